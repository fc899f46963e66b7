//! Histograms with bins of equal width, with the same counts as numpy.
//!
//! Bin `i` holds the values `v` with `edges[i] <= v < edges[i + 1]`. The last bin also holds its
//! upper edge. The edges are those of numpy's `linspace(first, last, bins + 1)`. A value is
//! compared with the edges, so the counts are those of `numpy.histogram` even where rounding
//! matters. Values of 64-bit integers are compared as `f64`.

use crate::lanes::{Lane, Operator, PerComponent, fold};
use crate::moments::Running;
use crate::number::{Key, Number};
use ndarray::{ArrayViewD, Axis};
use serde::Serialize;
use thiserror::Error;

/// Maximum number of bins. It bounds memory: each thread counts in a table of its own.
pub const MAX_BINS: usize = 1 << 24;

/// The reason why a histogram is not possible.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum HistogramError {
    /// The number of bins is 0 or above [`MAX_BINS`].
    #[error("{0} bins were asked for; ask for 1 to {MAX_BINS}")]
    BinCount(usize),
    /// An end of the range is not finite, or the ends are in the wrong order.
    #[error(
        "the range {first} to {last} is not usable: give two finite numbers, the smaller first"
    )]
    BadRange {
        /// The lower end of the range.
        first: f64,
        /// The upper end of the range.
        last: f64,
    },
    /// The width of the range is not a finite double.
    #[error("the range {first} to {last} is wider than the largest double; give a narrower range")]
    TooWide {
        /// The lower end of the range.
        first: f64,
        /// The upper end of the range.
        last: f64,
    },
    /// The range has too few doubles for the edges of the bins.
    #[error(
        "the range {first} to {last} has fewer than {bins} distinct doubles between its ends; \
         ask for fewer bins"
    )]
    TooNarrow {
        /// The lower end of the range.
        first: f64,
        /// The upper end of the range.
        last: f64,
        /// Number of bins.
        bins: usize,
    },
}

/// The range of values that the bins cover.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Range {
    /// From the least to the greatest finite value, for each component by itself. If these are
    /// equal, half a unit to both sides, as in numpy. Without a finite value, 0 to 1. Values are
    /// read twice.
    #[default]
    Auto,
    /// From the first to the second number, for all components. If these are equal, half a unit to
    /// both sides.
    Given(f64, f64),
}

/// The edges of bins of equal width.
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    edges: Vec<f64>,
    per_unit: f64,
}

impl Bins {
    /// Returns `bins` bins from `first` to `last`.
    pub fn new(bins: usize, first: f64, last: f64) -> Result<Self, HistogramError> {
        if !(1..=MAX_BINS).contains(&bins) {
            return Err(HistogramError::BinCount(bins));
        }
        if !(first.is_finite() && last.is_finite() && first <= last) {
            return Err(HistogramError::BadRange { first, last });
        }
        if first == last {
            return Self::between(bins, first - 0.5, last + 0.5);
        }
        Self::between(bins, first, last)
    }

    /// Returns bins that hold every value from `min` to `max`. If there are too few numbers between
    /// these, the bins reach beyond them by some units in the last place.
    fn around(bins: usize, min: f64, max: f64) -> Result<Self, HistogramError> {
        Self::new(bins, min, max).or_else(|error| match error {
            HistogramError::TooNarrow { .. } => {
                let ulp = min.abs().max(max.abs()) * f64::EPSILON;
                let margin = ulp.max(f64::from_bits(1)) * bins as f64;
                Self::between(bins, min - margin, max + margin)
            }
            other => Err(other),
        })
    }

    fn between(bins: usize, first: f64, last: f64) -> Result<Self, HistogramError> {
        let width = last - first;
        if !width.is_finite() {
            return Err(HistogramError::TooWide { first, last });
        }
        let step = width / bins as f64;
        let mut edges: Vec<f64> = (0..bins).map(|i| i as f64 * step + first).collect();
        edges.push(last);
        if edges.is_sorted_by(|a, b| a < b) {
            let per_unit = bins as f64 / width;
            Ok(Bins { edges, per_unit })
        } else {
            Err(HistogramError::TooNarrow { first, last, bins })
        }
    }

    /// Returns the edges. There is one more edge than bins.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Returns the number of bins.
    pub fn len(&self) -> usize {
        self.edges.len() - 1
    }

    /// Returns false: there is always at least one bin.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the place of `v`, which must not be NaN.
    pub fn place(&self, v: f64) -> BinPosition {
        let (first, last) = (self.edges[0], self.edges[self.len()]);
        if v < first {
            BinPosition::Below
        } else if v > last {
            BinPosition::Above
        } else {
            BinPosition::Bin(self.bin(v, first))
        }
    }

    /// Returns the number of the bin of `v`. Division gives a guess, which the edges correct.
    fn bin(&self, v: f64, first: f64) -> usize {
        let mut bin = (((v - first) * self.per_unit) as usize).min(self.len() - 1);
        while v < self.edges[bin] {
            bin -= 1;
        }
        while bin + 1 < self.len() && v >= self.edges[bin + 1] {
            bin += 1;
        }
        bin
    }
}

/// The position of a value relative to the bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinPosition {
    /// Less than the first edge.
    Below,
    /// In the bin of this number.
    Bin(usize),
    /// Greater than the last edge.
    Above,
}

/// The numbers of values in, below and above the bins. `below + above + nans` and the `counts` add
/// up to the number of values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    /// The edges of the bins. There is one more edge than counts.
    pub edges: Vec<f64>,
    /// Number of values in each bin.
    pub counts: Vec<u64>,
    /// Number of values below the first edge, including negative infinity.
    pub below: u64,
    /// Number of values above the last edge, including positive infinity.
    pub above: u64,
    /// Number of values that are NaN.
    pub nans: u64,
}

/// Computes the histogram of all values of `array`. Complex numbers count with their modulus.
///
/// ```
/// use tcasm_analytics::{Range, histogram::histogram};
/// let values = ndarray::array![1, 2, 2, 5].into_dyn();
/// let h = histogram(values.view(), 2, Range::Auto).unwrap();
/// assert_eq!((h.edges, h.counts), (vec![1.0, 3.0, 5.0], vec![3, 1]));
/// ```
pub fn histogram<T: Number>(
    array: ArrayViewD<'_, T>,
    bins: usize,
    range: Range,
) -> Result<Histogram, HistogramError> {
    let axis = Axis(array.ndim());
    let mut each = histogram_of_points(array.insert_axis(axis), bins, range)?;
    Ok(each
        .components
        .pop()
        .expect("one histogram for one component"))
}

/// Computes the histogram of each component. The last axis of `points` holds the components.
pub fn histogram_of_points<T: Number>(
    points: ArrayViewD<'_, T>,
    bins: usize,
    range: Range,
) -> Result<PerComponent<Histogram>, HistogramError> {
    let limits = || Ok(fold(points.view(), &Extent));
    let bins = lane_bins(bins, range, limits, |error: HistogramError| error)?;
    Ok(fold(points, &Counting(bins)))
}

/// Returns the bins of each lane. `limits` finds the least and the greatest value of each, and is
/// only called if they are needed. `failed` converts the error.
pub(crate) fn lane_bins<E>(
    bins: usize,
    range: Range,
    limits: impl FnOnce() -> Result<PerComponent<Limits>, E>,
    failed: impl Fn(HistogramError) -> E,
) -> Result<LaneBins, E> {
    match range {
        Range::Given(first, last) => {
            let same = Bins::new(bins, first, last).map_err(failed)?;
            Ok(LaneBins::Same(same))
        }
        Range::Auto => {
            // Refuse a bad number of bins before the field is read.
            Bins::new(bins, 0.0, 1.0).map_err(&failed)?;
            let each = automatic(limits()?, bins).map_err(failed)?;
            Ok(LaneBins::Each(each))
        }
    }
}

pub(crate) type Limits = Option<(f64, f64)>;

fn automatic(
    limits: PerComponent<Limits>,
    bins: usize,
) -> Result<PerComponent<Bins>, HistogramError> {
    let around = |limits: Limits| {
        let (min, max) = limits.unwrap_or((0.0, 1.0));
        Bins::around(bins, min, max)
    };
    Ok(PerComponent {
        components: limits
            .components
            .into_iter()
            .map(around)
            .collect::<Result<_, _>>()?,
        magnitude: limits.magnitude.map(around).transpose()?,
    })
}

/// The operator that finds the least and the greatest finite value.
pub(crate) struct Extent;

impl Operator for Extent {
    type State<V: Number> = Running<V>;
    type Output = Limits;

    fn start<V: Number>(&self, _: Lane) -> Running<V> {
        Running::default()
    }
    fn visit<V: Number>(&self, state: &mut Running<V>, values: &[V]) {
        state.add(values);
    }
    fn merge<V: Number>(&self, state: &mut Running<V>, later: Running<V>) {
        state.merge(&later);
    }
    fn finish<V: Number>(&self, state: Running<V>) -> Limits {
        state.extent()
    }
}

pub(crate) enum LaneBins {
    Same(Bins),
    Each(PerComponent<Bins>),
}

pub(crate) struct Counting(pub(crate) LaneBins);

impl Counting {
    fn bins(&self, lane: Lane) -> &Bins {
        match &self.0 {
            LaneBins::Same(bins) => bins,
            LaneBins::Each(each) => each
                .get(lane)
                .expect("bins for every lane of the same points"),
        }
    }
}

/// The counts of one lane. `counts` has one more entry before the bins, for values below them, and
/// one after, for values above.
pub(crate) struct Tally {
    lane: Lane,
    counts: Vec<u64>,
    nans: u64,
}

impl Operator for Counting {
    type State<V: Number> = Tally;
    type Output = Histogram;

    fn state_len(&self) -> usize {
        self.bins(Lane::Component(0)).len()
    }

    fn start<V: Number>(&self, lane: Lane) -> Tally {
        let counts = vec![0; self.bins(lane).len() + 2];
        Tally {
            lane,
            counts,
            nans: 0,
        }
    }

    fn visit<V: Number>(&self, tally: &mut Tally, values: &[V]) {
        let bins = self.bins(tally.lane);
        for value in values {
            if value.is_nan() {
                tally.nans += 1;
                continue;
            }
            let slot = match bins.place(value.key().to_f64()) {
                BinPosition::Below => 0,
                BinPosition::Bin(bin) => bin + 1,
                BinPosition::Above => bins.len() + 1,
            };
            tally.counts[slot] += 1;
        }
    }

    fn merge<V: Number>(&self, tally: &mut Tally, later: Tally) {
        tally
            .counts
            .iter_mut()
            .zip(&later.counts)
            .for_each(|(a, b)| *a += b);
        tally.nans += later.nans;
    }

    fn finish<V: Number>(&self, tally: Tally) -> Histogram {
        let bins = self.bins(tally.lane);
        let n = bins.len();
        Histogram {
            edges: bins.edges.clone(),
            counts: tally.counts[1..=n].to_vec(),
            below: tally.counts[0],
            above: tally.counts[n + 1],
            nans: tally.nans,
        }
    }
}
