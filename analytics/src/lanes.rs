//! A walk over an n-d view in pieces that fit the cache, in parallel, and in a fixed order.
//!
//! The view is halved along its slowest axis until a piece is small. Then the results of the halves
//! are merged. The tree of halves depends only on the shape and the strides, not on the number of
//! threads or their timing. So every result is reproducible bit by bit. Sums are pairwise, which
//! keeps rounding errors small.
//!
//! Operators only get slices. A piece that is contiguous in memory is passed directly. Any other
//! piece (without ghost layers, or with interleaved components) is copied into a buffer of the size
//! of one piece.

use crate::number::{Number, Wide, modulus};
use ndarray::{ArrayViewD, Axis};
use serde::Serialize;

/// Maximum number of values in a piece. A piece stays in the first- or second-level cache for a
/// second pass. (Pieces are tiny in tests, so that small arrays have many.)
pub(crate) const LEAF: usize = if cfg!(test) { 40 } else { 8192 };
/// Number of values up to which a part of the view is not split among threads.
const GRAIN: usize = if cfg!(test) { 120 } else { 1 << 17 };

/// The number of each point that an operator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// One component.
    Component(usize),
    /// The Euclidean norm of all components.
    Magnitude,
}

/// One result per component, and one for the magnitude if there are several components.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerComponent<R> {
    /// Results of the components, in order; one for a scalar field.
    pub components: Vec<R>,
    /// Result for the Euclidean norm of the components; absent for a scalar field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub magnitude: Option<R>,
}

impl<R> PerComponent<R> {
    /// Returns the result for one lane, if there is such a lane.
    pub fn get(&self, lane: Lane) -> Option<&R> {
        match lane {
            Lane::Component(c) => self.components.get(c),
            Lane::Magnitude => self.magnitude.as_ref(),
        }
    }
}

/// A computation over all values of a lane, which may be grouped in any way.
///
/// Merging must be associative up to rounding. It need not be commutative: the order of values is
/// kept.
pub trait Operator: Sync {
    /// The intermediate result of the values so far.
    type State<V: Number>: Send;
    /// The result.
    type Output;

    /// Returns the size of a state, in values. If states are large, each is used for a larger part.
    fn state_len(&self) -> usize {
        1
    }
    /// Returns the state without any values.
    fn start<V: Number>(&self, lane: Lane) -> Self::State<V>;
    /// Adds the next values to a state.
    fn visit<V: Number>(&self, state: &mut Self::State<V>, values: &[V]);
    /// Adds the state of the values that follow those of `state`.
    fn merge<V: Number>(&self, state: &mut Self::State<V>, later: Self::State<V>);
    /// Returns the result.
    fn finish<V: Number>(&self, state: Self::State<V>) -> Self::Output;
}

/// Applies `op` to every lane of `points`, whose last axis holds the components (length 1 for
/// scalars).
///
/// # Panics
/// Panics if `points` has no axis.
pub fn fold<T: Number, O: Operator>(points: ArrayViewD<'_, T>, op: &O) -> PerComponent<O::Output> {
    let components = *points
        .shape()
        .last()
        .expect("a last axis that holds the components");
    let walk = Walk::new(op, components);
    walk.finish(walk.split(by_stride(points)))
}

/// Applies `op` to an array without an axis for components. See [`fold`].
pub fn fold_scalars<T: Number, O: Operator>(array: ArrayViewD<'_, T>, op: &O) -> O::Output {
    let axis = Axis(array.ndim());
    fold(array.insert_axis(axis), op)
        .components
        .pop()
        .expect("one result for one component")
}

/// Returns the same points with the slowest axis first, positive strides, and as few axes as
/// possible. An array without ghost layers gets one long axis, for any order. The components stay
/// the last axis.
fn by_stride<T>(mut points: ArrayViewD<'_, T>) -> ArrayViewD<'_, T> {
    let last = points.ndim() - 1;
    for axis in 0..last {
        if points.strides()[axis] < 0 {
            points.invert_axis(Axis(axis));
        }
    }
    let mut axes: Vec<usize> = (0..last).collect();
    axes.sort_by_key(|&axis| std::cmp::Reverse(points.strides()[axis]));
    axes.push(last);
    let mut points = points.permuted_axes(axes);
    // The walk along the merged axis moves fastest along the second of the two.
    for axis in 1..last {
        points.merge_axes(Axis(axis - 1), Axis(axis));
    }
    for axis in (0..last).rev() {
        if points.len_of(Axis(axis)) == 1 {
            points = points.index_axis_move(Axis(axis), 0);
        }
    }
    points
}

/// The states of all lanes.
pub(crate) struct States<O: Operator, T: Number> {
    components: Vec<O::State<T>>,
    magnitude: Option<O::State<f64>>,
}

/// The buffers for a piece that is not contiguous, and for the magnitudes of a piece.
pub(crate) struct Buffers<T> {
    gathered: Vec<T>,
    norms: Vec<f64>,
}

impl<T> Default for Buffers<T> {
    fn default() -> Self {
        Buffers {
            gathered: Vec::new(),
            norms: Vec::new(),
        }
    }
}

/// A walk over the points of one field.
pub(crate) struct Walk<'o, O> {
    op: &'o O,
    components: usize,
    /// Number of values up to which a part is not split among threads.
    pub(crate) grain: usize,
}

impl<'o, O: Operator> Walk<'o, O> {
    pub(crate) fn new(op: &'o O, components: usize) -> Self {
        Walk {
            op,
            components,
            grain: GRAIN.max(16 * op.state_len() * components),
        }
    }

    /// Returns the states without any values.
    pub(crate) fn start<T: Number>(&self) -> States<O, T> {
        let component = |c| self.op.start::<T>(Lane::Component(c));
        let several = self.components > 1;
        States {
            components: (0..self.components).map(component).collect(),
            magnitude: several.then(|| self.op.start::<f64>(Lane::Magnitude)),
        }
    }

    /// Adds the states of the values that follow those of `states`.
    pub(crate) fn merge<T: Number>(&self, states: &mut States<O, T>, later: States<O, T>) {
        for (state, later) in states.components.iter_mut().zip(later.components) {
            self.op.merge::<T>(state, later);
        }
        if let (Some(state), Some(later)) = (&mut states.magnitude, later.magnitude) {
            self.op.merge::<f64>(state, later);
        }
    }

    /// Returns the results.
    pub(crate) fn finish<T: Number>(&self, states: States<O, T>) -> PerComponent<O::Output> {
        let components = states.components.into_iter();
        PerComponent {
            components: components.map(|s| self.op.finish::<T>(s)).collect(),
            magnitude: states.magnitude.map(|s| self.op.finish::<f64>(s)),
        }
    }

    /// Splits the points among threads, down to parts of `grain` values.
    fn split<T: Number>(&self, points: ArrayViewD<'_, T>) -> States<O, T> {
        match halves(&points, self.grain) {
            None => self.part(points),
            Some((left, right)) => {
                let (mut a, b) = rayon::join(|| self.split(left), || self.split(right));
                self.merge(&mut a, b);
                a
            }
        }
    }

    fn part<T: Number>(&self, points: ArrayViewD<'_, T>) -> States<O, T> {
        let (mut states, mut buffers) = (self.start(), Buffers::default());
        if !points.is_empty() {
            self.leaves(points, &mut states, &mut buffers);
        }
        states
    }

    pub(crate) fn leaves<T: Number>(
        &self,
        points: ArrayViewD<'_, T>,
        states: &mut States<O, T>,
        buffers: &mut Buffers<T>,
    ) {
        match halves(&points, LEAF) {
            None => self.leaf(points, states, buffers),
            Some((left, right)) => {
                self.leaves(left, states, buffers);
                self.leaves(right, states, buffers);
            }
        }
    }

    pub(crate) fn leaf<T: Number>(
        &self,
        points: ArrayViewD<'_, T>,
        states: &mut States<O, T>,
        buffers: &mut Buffers<T>,
    ) {
        let Buffers { gathered, norms } = buffers;
        norms.clear();
        norms.resize(points.len() / self.components, 0.0);
        for (c, state) in states.components.iter_mut().enumerate() {
            let values = contiguous(&points, c, gathered);
            self.op.visit(state, values);
            if states.magnitude.is_some() {
                norms
                    .iter_mut()
                    .zip(values)
                    .for_each(|(n, v)| *n = modulus(*n, v.wide().modulus()));
            }
        }
        if let Some(state) = &mut states.magnitude {
            self.op.visit(state, norms.as_slice());
        }
    }
}

/// Returns the two halves along the slowest axis, or `None` if there are at most `small` values or
/// only one point.
fn halves<'a, T>(
    points: &ArrayViewD<'a, T>,
    small: usize,
) -> Option<(ArrayViewD<'a, T>, ArrayViewD<'a, T>)> {
    let (axis, at) = cut(points.shape(), small)?;
    Some(points.clone().split_at(Axis(axis), at))
}

/// Returns the slowest axis with several points and the middle of it, or `None` if there are at
/// most `small` values or only one point. The last axis of `shape` holds the components.
pub(crate) fn cut(shape: &[usize], small: usize) -> Option<(usize, usize)> {
    let (_, slow) = shape.split_last()?;
    let axis = slow.iter().position(|&n| n > 1)?;
    let values: usize = shape.iter().product();
    (values > small).then_some((axis, slow[axis] / 2))
}

/// Returns one component of `points` as a slice: in place if it is contiguous, else copied row by
/// row.
fn contiguous<'a, T: Copy>(
    points: &'a ArrayViewD<'_, T>,
    component: usize,
    gathered: &'a mut Vec<T>,
) -> &'a [T] {
    let lane = points.index_axis(Axis(points.ndim() - 1), component);
    if let Some(slice) = lane.to_slice() {
        return slice;
    }
    gathered.clear();
    for row in lane.rows() {
        match row.to_slice() {
            Some(slice) => gathered.extend_from_slice(slice),
            None => gathered.extend(row.iter().copied()),
        }
    }
    gathered
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array3, ArrayView3, ShapeBuilder, s};

    /// Returns the lengths of the axes that the walk over `array` has, and its values in the order
    /// of the walk.
    fn walked(array: ArrayView3<'_, u32>) -> (Vec<usize>, Vec<u32>) {
        let points = by_stride(array.into_dyn().insert_axis(Axis(3)));
        let lens = points.shape()[..points.ndim() - 1].to_vec();
        (lens, points.iter().copied().collect())
    }

    /// Returns arrays of shape 4 x 5 x 6 in C order and in Fortran order. Each value is its
    /// place in memory.
    fn arrays() -> [Array3<u32>; 2] {
        [false, true].map(|fortran| {
            let shape = (4, 5, 6).set_f(fortran);
            Array3::from_shape_vec(shape, (0..120).collect()).unwrap()
        })
    }

    #[test]
    fn array_without_gaps_is_walked_along_one_axis() {
        let all: Vec<u32> = (0..120).collect();
        for array in arrays() {
            assert_eq!(walked(array.view()), (vec![120], all.clone()));
            let reversed = array.slice(s![.., ..;-1, ..]);
            assert_eq!(walked(reversed), (vec![120], all.clone()), "reversed");
        }
        let [c, f] = arrays();
        let inner: Vec<u32> = (30..90).collect();
        assert_eq!(walked(c.slice(s![1..3, .., ..])), (vec![60], inner));
        let inner: Vec<u32> = (20..60).collect();
        assert_eq!(walked(f.slice(s![.., .., 1..3])), (vec![40], inner));
    }

    #[test]
    fn gaps_separate_axes() {
        let [c, f] = arrays();
        let lens = |array| walked(array).0;
        assert_eq!(lens(c.slice(s![.., 1..4, ..])), [4, 18]);
        assert_eq!(lens(c.slice(s![.., .., 1..4])), [20, 3]);
        assert_eq!(lens(c.slice(s![..;-2, .., ..])), [2, 30]);
        assert_eq!(lens(c.slice(s![..;2, 1..4, 1..4])), [2, 3, 3]);
        assert_eq!(lens(f.slice(s![.., 1..4, ..])), [6, 12]);
        assert_eq!(lens(f.slice(s![1..3, .., ..])), [30, 2]);
    }
}
