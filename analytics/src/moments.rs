//! Count, NaNs, infinities, minimum, maximum, mean, variance and standard deviation.
//!
//! Each piece of up to a few thousand values is read twice, the second time from the cache. The
//! first pass computes sum and extrema. The second pass computes the squares of the distances from
//! the mean (with the correction of Chan, Golub and LeVeque, 1983). Pieces are merged pairwise by
//! their formula. This is as accurate as Welford's recurrence and needs no division per value, so
//! it runs at the speed of memory.

use crate::lanes::{Lane, Operator, PerComponent, fold, fold_scalars};
use crate::number::{Key, Number, Scalar, Wide};
use crate::simd::vectorised;
use ndarray::ArrayViewD;
use serde::Serialize;

/// Number of independent sums per piece. Additions to different sums need not wait for each other.
const WIDTH: usize = 16;

/// The moments of a set of numbers. Extrema, mean and variance are those of the finite values. They
/// are absent if there is no finite value (the sample variance: if there are fewer than two).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moments {
    /// Number of values, including NaNs and infinities.
    pub count: u64,
    /// Number of NaNs.
    pub nans: u64,
    /// Number of infinities of both signs.
    pub infinities: u64,
    /// Number of positive infinities. Those of complex numbers, which have no sign, are among them.
    pub positive_infinities: u64,
    /// Number of negative infinities.
    pub negative_infinities: u64,
    /// Least finite value, exact. For complex numbers, the least modulus.
    pub min: Option<Scalar>,
    /// Greatest finite value, exact. For complex numbers, the greatest modulus.
    pub max: Option<Scalar>,
    /// Mean of the finite values. For complex numbers it is complex.
    pub mean: Option<Scalar>,
    /// Population variance (divided by n). Infinite if the squares leave the range of `f64`.
    pub variance: Option<f64>,
    /// Sample variance (divided by n - 1).
    pub sample_variance: Option<f64>,
    /// Square root of `variance`.
    pub std: Option<f64>,
    /// Square root of `sample_variance`.
    pub sample_std: Option<f64>,
}

impl Moments {
    /// Returns the number of finite values: extrema, mean and variance are those of these.
    pub fn finite(&self) -> u64 {
        self.count - self.nans - self.infinities
    }
}

/// Computes the moments of all values of `array`.
///
/// ```
/// use ndarray::array;
/// let m = tcasm_analytics::moments::moments(array![1.0, 2.0, f64::NAN, 6.0].into_dyn().view());
/// assert_eq!((m.count, m.nans), (4, 1));
/// assert_eq!(m.mean.unwrap().to_f64(), 3.0);
/// assert_eq!(m.sample_variance, Some(7.0));
/// ```
pub fn moments<T: Number>(array: ArrayViewD<'_, T>) -> Moments {
    fold_scalars(array, &MomentsOp)
}

/// Computes the moments of each component. The last axis of `points` holds the components.
pub fn moments_of_points<T: Number>(points: ArrayViewD<'_, T>) -> PerComponent<Moments> {
    fold(points, &MomentsOp)
}

/// The moments of the values so far. Values can be added, and moments can be merged.
#[derive(Clone, Copy, Debug)]
pub struct Running<T: Number> {
    finite: u64,
    nans: u64,
    infinities: u64,
    negative_infinities: u64,
    min: T::Key,
    max: T::Key,
    mean: T::Wide,
    /// Sum of squared distances from `mean`.
    m2: f64,
}

impl<T: Number> Default for Running<T> {
    fn default() -> Self {
        Running {
            finite: 0,
            nans: 0,
            infinities: 0,
            negative_infinities: 0,
            min: T::Key::HIGHEST,
            max: T::Key::LOWEST,
            mean: T::Wide::ZERO,
            m2: 0.0,
        }
    }
}

impl<T: Number> Running<T> {
    /// Adds values. Pieces of some thousand values are best, because each call reads `values`
    /// twice.
    pub fn add(&mut self, values: &[T]) {
        let first = Sums::of(values);
        if first.sum().finite() {
            return self.merge(&Self::of_finite(values, first));
        }
        // A value is not finite, or the sum left the range of f64. Check each value.
        let finite: Vec<T> = values.iter().copied().filter(|v| v.is_finite()).collect();
        let nans = values.iter().filter(|v| v.is_nan()).count();
        let negative = |v: &&T| v.key().to_f64() == f64::NEG_INFINITY;
        self.negative_infinities += values.iter().filter(negative).count() as u64;
        self.merge(&Self::of_finite(&finite, Sums::of(&finite)));
        self.nans += nans as u64;
        self.infinities += (values.len() - finite.len() - nans) as u64;
    }

    fn of_finite(values: &[T], first: Sums<T>) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let (mean, m2) = centred(values, mean_of(values, first.sum()));
        Running {
            finite: values.len() as u64,
            min: first.min(),
            max: first.max(),
            mean,
            m2,
            ..Self::default()
        }
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.nans += other.nans;
        self.infinities += other.infinities;
        self.negative_infinities += other.negative_infinities;
        if other.finite == 0 {
            return;
        }
        if self.finite == 0 {
            *self = Running {
                nans: self.nans,
                infinities: self.infinities,
                negative_infinities: self.negative_infinities,
                ..*other
            };
            return;
        }
        let (a, b) = (self.finite as f64, other.finite as f64);
        let share = b / (a + b);
        let distance = other.mean - self.mean;
        self.mean = if distance.finite() {
            self.mean + distance * share
        } else {
            self.mean * (1.0 - share) + other.mean * share
        };
        self.m2 += other.m2 + distance.norm_sqr() * (a * share);
        self.min = lesser(other.min, self.min);
        self.max = greater(other.max, self.max);
        self.finite += other.finite;
    }

    /// Returns the moments of the values so far.
    pub fn finish(&self) -> Moments {
        let n = self.finite as f64;
        let some = self.finite > 0;
        let variance = some.then(|| self.m2 / n);
        let sample_variance = (self.finite > 1).then(|| self.m2 / (n - 1.0));
        Moments {
            count: self.finite + self.nans + self.infinities,
            nans: self.nans,
            infinities: self.infinities,
            positive_infinities: self.infinities - self.negative_infinities,
            negative_infinities: self.negative_infinities,
            min: some.then(|| self.min.into()),
            max: some.then(|| self.max.into()),
            mean: some.then(|| self.mean.into()),
            variance,
            sample_variance,
            std: variance.map(f64::sqrt),
            sample_std: sample_variance.map(f64::sqrt),
        }
    }

    /// Returns the least and the greatest finite value (of complex numbers: modulus), if there is
    /// any.
    pub fn extent(&self) -> Option<(f64, f64)> {
        (self.finite > 0).then(|| (self.min.to_f64(), self.max.to_f64()))
    }
}

/// `WIDTH` independent accumulators. The loops over blocks treat all of them in the same way and do
/// nothing else. The compiler turns this form into vector instructions.
type Each<A> = [A; WIDTH];

/// The results of the first pass over a piece.
struct Sums<T: Number> {
    sum: Each<T::Wide>,
    min: Each<T::Key>,
    max: Each<T::Key>,
}

impl<T: Number> Sums<T> {
    fn of(values: &[T]) -> Self {
        let (blocks, rest) = values.as_chunks();
        let mut sums = vectorised(
            #[inline(always)]
            || Self::of_blocks(blocks),
        );
        rest.iter().for_each(|v| sums.take(0, *v));
        sums
    }

    #[inline(always)]
    fn of_blocks(blocks: &[[T; WIDTH]]) -> Self {
        let mut sums = Sums {
            sum: [T::Wide::ZERO; WIDTH],
            min: [T::Key::HIGHEST; WIDTH],
            max: [T::Key::LOWEST; WIDTH],
        };
        for block in blocks {
            for (i, v) in block.iter().enumerate() {
                sums.take(i, *v);
            }
        }
        sums
    }

    #[inline(always)]
    fn take(&mut self, i: usize, v: T) {
        self.sum[i] = self.sum[i] + v.wide();
        self.min[i] = lesser(v.key(), self.min[i]);
        self.max[i] = greater(v.key(), self.max[i]);
    }

    fn sum(&self) -> T::Wide {
        total(self.sum)
    }
    fn min(&self) -> T::Key {
        self.min.into_iter().fold(T::Key::HIGHEST, lesser)
    }
    fn max(&self) -> T::Key {
        self.max.into_iter().fold(T::Key::LOWEST, greater)
    }
}

/// Returns the sums of the distances from `mean`, and of their squares.
#[inline(always)]
fn second_pass<T: Number>(blocks: &[[T; WIDTH]], mean: T::Wide) -> (Each<T::Wide>, Each<f64>) {
    let mut off = [T::Wide::ZERO; WIDTH];
    let mut squares = [0.0; WIDTH];
    for block in blocks {
        for i in 0..WIDTH {
            let distance = block[i].wide() - mean;
            off[i] = off[i] + distance;
            squares[i] += distance.norm_sqr();
        }
    }
    (off, squares)
}

/// Returns the mean of finite values. It is finite even if their sum is not.
fn mean_of<T: Number>(values: &[T], sum: T::Wide) -> T::Wide {
    let share = 1.0 / values.len() as f64;
    if sum.finite() {
        return sum * share;
    }
    let add = |mean: T::Wide, v: &T| (mean + v.wide() * share).clamped();
    values.iter().fold(T::Wide::ZERO, add)
}

/// Runs the second pass. Returns the corrected mean, and the sum of squared distances from it.
fn centred<T: Number>(values: &[T], mean: T::Wide) -> (T::Wide, f64) {
    let (blocks, rest) = values.as_chunks();
    let (mut off, mut squares) = vectorised(
        #[inline(always)]
        || second_pass(blocks, mean),
    );
    for v in rest {
        let distance = v.wide() - mean;
        off[0] = off[0] + distance;
        squares[0] += distance.norm_sqr();
    }
    let m2 = total(squares);
    if !m2.is_finite() {
        return (mean, f64::INFINITY);
    }
    let n = values.len() as f64;
    let off = total(off);
    (mean + off * (1.0 / n), (m2 - off.norm_sqr() / n).max(0.0))
}

/// Adds the independent sums pairwise.
fn total<W: Wide>(mut sums: [W; WIDTH]) -> W {
    let mut half = WIDTH / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] = sums[i] + sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Returns `a` if it is less, else `b`. This is one instruction, unlike `f64::min`. A NaN in `a` is
/// ignored.
#[inline(always)]
fn lesser<K: Key>(a: K, b: K) -> K {
    if a < b { a } else { b }
}

/// Returns `a` if it is greater, else `b`. See [`lesser`].
#[inline(always)]
fn greater<K: Key>(a: K, b: K) -> K {
    if a > b { a } else { b }
}

/// The operator that computes moments.
pub(crate) struct MomentsOp;

impl Operator for MomentsOp {
    type State<V: Number> = Running<V>;
    type Output = Moments;

    fn start<V: Number>(&self, _: Lane) -> Running<V> {
        Running::default()
    }
    fn visit<V: Number>(&self, state: &mut Running<V>, values: &[V]) {
        state.add(values);
    }
    fn merge<V: Number>(&self, state: &mut Running<V>, later: Running<V>) {
        state.merge(&later);
    }
    fn finish<V: Number>(&self, state: Running<V>) -> Moments {
        state.finish()
    }
}
