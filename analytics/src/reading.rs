//! Operators over a field that is not in memory. It is read piece by piece.
//!
//! The pieces are those of the walk over an array ([`crate::lanes`]), and each is read by the
//! thread that needs it. So a result has the same bits as that over an array of the field, and no
//! more than a piece per thread is in memory. `read` copies bytes of the field, from an offset on.

use crate::error::AnalyticsError;
use crate::histogram::{Counting, Extent, Histogram, Range, lane_bins};
use crate::lanes::{Buffers, LEAF, Operator, PerComponent, States, Walk, cut};
use crate::number::Number;
use ndarray::{ArrayViewD, IxDyn, ShapeBuilder};
use std::cmp::Reverse;
use tcasm_core::field::{self, FieldDesc};

/// The most bytes that are read at once, with what lies between the values of a piece. (Reads are
/// tiny in tests.)
const MOST: usize = if cfg!(test) { 256 } else { 2 << 20 };

/// Applies `op` to every lane of the field `desc`, without ghost layers.
pub(crate) fn fold<T: Number, O: Operator, E, R>(
    desc: &FieldDesc,
    op: &O,
    read: &R,
) -> Result<PerComponent<O::Output>, E>
where
    E: From<AnalyticsError> + Send,
    R: Fn(u64, &mut [u8]) -> Result<(), E> + Sync,
{
    check::<T>(desc)?;
    let walk = Walk::new(op, desc.components);
    if desc.bytes() == 0 {
        // A piece has at least one point.
        return Ok(walk.finish(walk.start::<T>()));
    }
    let states = split::<T, O, E, R>(&walk, &Piece::of(desc), read)?;
    Ok(walk.finish(states))
}

/// Computes the histogram of each component of the field `desc`.
pub(crate) fn histogram<T: Number, E, R>(
    desc: &FieldDesc,
    read: &R,
    bins: usize,
    range: Range,
) -> Result<PerComponent<Histogram>, E>
where
    E: From<AnalyticsError> + Send,
    R: Fn(u64, &mut [u8]) -> Result<(), E> + Sync,
{
    let limits = || fold::<T, Extent, E, R>(desc, &Extent, read);
    let failed = |source| {
        let name = desc.name.clone();
        E::from(AnalyticsError::Histogram { name, source })
    };
    let counting = Counting(lane_bins(bins, range, limits, failed)?);
    fold::<T, Counting, E, R>(desc, &counting, read)
}

fn check<T: Number>(desc: &FieldDesc) -> Result<(), AnalyticsError> {
    desc.check()?;
    Ok(field::check_type::<T>(desc)?)
}

/// Some points of a field that is not in memory.
#[derive(Clone)]
struct Piece {
    /// The number of the first value of the field that belongs to the piece.
    first: usize,
    /// The length and the stride of each axis, the slowest first. The last one is the components.
    axes: Vec<(usize, usize)>,
}

impl Piece {
    /// Returns all points of a field, without ghost layers. The axes are those of an array that is
    /// walked.
    fn of(desc: &FieldDesc) -> Piece {
        let strides = desc.array_strides();
        let ghosts = desc.ghosts.iter().zip(&strides);
        let first = ghosts.map(|(ghosts, stride)| ghosts[0] * stride).sum();
        let axes = desc.interior_shape().into_iter().zip(strides);
        let mut axes: Vec<_> = axes.filter(|(len, _)| *len > 1).collect();
        axes.sort_by_key(|(_, stride)| Reverse(*stride));
        let mut axes = merged(&axes);
        axes.push((desc.components, 1));
        Piece { first, axes }
    }

    /// Returns the two halves, as [`crate::lanes::halves`] does for an array.
    fn halves(&self, small: usize) -> Option<(Piece, Piece)> {
        let lens: Vec<usize> = self.axes.iter().map(|(len, _)| *len).collect();
        let (axis, at) = cut(&lens, small)?;
        let (mut left, mut right) = (self.clone(), self.clone());
        left.axes[axis].0 = at;
        right.axes[axis].0 -= at;
        right.first += at * self.axes[axis].1;
        Some((left, right))
    }

    /// Returns the number of values from the first to the last, with those in between.
    fn span(&self) -> usize {
        let last: usize = self
            .axes
            .iter()
            .map(|(len, stride)| (len - 1) * stride)
            .sum();
        last + 1
    }

    /// Returns true if the piece can be read at once.
    fn is_small<T>(&self) -> bool {
        self.span() * size_of::<T>() <= MOST
    }

    /// Reads all values from the first to the last.
    fn read<T: Number, E>(
        &self,
        values: &mut Vec<T>,
        read: &impl Fn(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        values.resize(self.span(), T::zeroed());
        let offset = (self.first * size_of::<T>()) as u64;
        read(offset, bytemuck::cast_slice_mut(values.as_mut_slice()))
    }

    /// Returns the points in `values`, which begin with the first value of the piece.
    fn view<'v, T>(&self, values: &'v [T]) -> ArrayViewD<'v, T> {
        let (lens, strides): (Vec<usize>, Vec<usize>) = self.axes.iter().copied().unzip();
        let shape = IxDyn(&lens).into_shape_with_order();
        let view = ArrayViewD::from_shape(shape.strides(IxDyn(&strides)), values);
        view.expect("values from the first to the last of the piece")
    }
}

/// Merges axes without gaps between them, as [`crate::lanes`] does for an array. The slowest axis
/// is the first. The merged axes move as fast as the last one of them.
fn merged(axes: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut merged: Vec<(usize, usize)> = Vec::new();
    for &(len, stride) in axes {
        match merged.last_mut() {
            Some(slow) if slow.1 == len * stride => *slow = (slow.0 * len, stride),
            _ => merged.push((len, stride)),
        }
    }
    merged
}

/// The buffers of one thread for the pieces that it reads.
struct Memory<T> {
    values: Vec<T>,
    packed: Vec<T>,
    buffers: Buffers<T>,
}

/// Splits a piece among threads, as [`Walk::split`] does for an array.
fn split<T: Number, O: Operator, E, R>(
    walk: &Walk<'_, O>,
    piece: &Piece,
    read: &R,
) -> Result<States<O, T>, E>
where
    E: Send,
    R: Fn(u64, &mut [u8]) -> Result<(), E> + Sync,
{
    let Some((left, right)) = piece.halves(walk.grain) else {
        let mut states = walk.start();
        let mut memory = Memory {
            values: Vec::new(),
            packed: Vec::new(),
            buffers: Buffers::default(),
        };
        leaves::<T, O, E, R>(walk, piece, &mut states, &mut memory, read)?;
        return Ok(states);
    };
    let (states, later) = rayon::join(
        || split::<T, O, E, R>(walk, &left, read),
        || split::<T, O, E, R>(walk, &right, read),
    );
    let mut states = states?;
    walk.merge(&mut states, later?);
    Ok(states)
}

/// Adds the values of a piece, as [`Walk::leaves`] does.
fn leaves<T: Number, O: Operator, E, R>(
    walk: &Walk<'_, O>,
    piece: &Piece,
    states: &mut States<O, T>,
    memory: &mut Memory<T>,
    read: &R,
) -> Result<(), E>
where
    R: Fn(u64, &mut [u8]) -> Result<(), E>,
{
    if piece.is_small::<T>() {
        piece.read(&mut memory.values, read)?;
        walk.leaves(piece.view(&memory.values), states, &mut memory.buffers);
        return Ok(());
    }
    if let Some((left, right)) = piece.halves(LEAF) {
        leaves::<T, O, E, R>(walk, &left, states, memory, read)?;
        return leaves(walk, &right, states, memory, read);
    }
    // Few values, far apart.
    memory.packed.clear();
    pack::<T, E, R>(piece, memory, read)?;
    let lens: Vec<usize> = piece.axes.iter().map(|(len, _)| *len).collect();
    let points = ArrayViewD::from_shape(IxDyn(&lens), memory.packed.as_slice());
    let points = points.expect("as many values as the piece has");
    walk.leaf(points, states, &mut memory.buffers);
    Ok(())
}

/// Reads a piece in parts, and adds only its values to `memory.packed`.
fn pack<T: Number, E, R>(piece: &Piece, memory: &mut Memory<T>, read: &R) -> Result<(), E>
where
    R: Fn(u64, &mut [u8]) -> Result<(), E>,
{
    let halves = if piece.is_small::<T>() {
        None
    } else {
        piece.halves(0)
    };
    if let Some((left, right)) = halves {
        pack::<T, E, R>(&left, memory, read)?;
        return pack(&right, memory, read);
    }
    piece.read(&mut memory.values, read)?;
    memory
        .packed
        .extend(piece.view(&memory.values).iter().copied());
    Ok(())
}
