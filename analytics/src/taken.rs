//! The indices that a part takes along an axis.

use crate::slice::Pick;
use ndarray::Slice;

/// The indices that a part takes along one axis of the interior of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The first index.
    pub start: usize,
    /// The number of indices.
    pub count: usize,
    /// The distance between neighbours. It is 1 if there are none.
    pub step: usize,
}

impl Taken {
    /// The only index of an axis of length 1.
    pub const ONLY: Taken = Taken {
        start: 0,
        count: 1,
        step: 1,
    };

    /// Returns the indices of `slice`, which goes forwards and has an end.
    pub(crate) fn of(slice: &Slice) -> Self {
        let end = slice.end.unwrap_or(slice.start);
        let step = slice.step.unsigned_abs();
        let count = (end - slice.start).unsigned_abs().div_ceil(step);
        Taken {
            start: slice.start.unsigned_abs(),
            count,
            step: if count > 1 { step } else { 1 },
        }
    }

    /// Returns the pick that takes these indices, and keeps the axis.
    pub(crate) fn pick(self) -> Pick {
        match self.count {
            // Only an axis of length 0 can have nothing taken of it.
            0 => Pick::ALL,
            count => Pick::Range {
                start: Some(self.start as isize),
                stop: Some((self.start + (count - 1) * self.step + 1) as isize),
                step: self.step as isize,
            },
        }
    }
}
