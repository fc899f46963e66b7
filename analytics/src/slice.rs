//! Slices of arrays, written as in numpy.
//!
//! `3,:,10:20:2` takes index 3 of the first axis (which is dropped), all of the second axis, and
//! every other index from 10 to 19 of the third. Negative numbers count from the end. A negative
//! step goes backwards. `...` stands for as many `:` as are needed. Axes that are left out at the
//! end are taken whole. These are numpy's rules, with one exception: a slice that selects nothing
//! is an error, unless it takes the whole of an axis of length 0.

mod text;

use ndarray::{ArrayViewD, SliceInfoElem};
use std::ops::Range;
use thiserror::Error;

/// The indices that are taken along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// One index; the axis is dropped.
    Index(isize),
    /// A range of indices, `start:stop:step`.
    Range {
        /// The first index. If absent: the first of the axis, or the last for a negative step.
        start: Option<isize>,
        /// The first index that is not taken. If absent, the range goes on to the end of the axis.
        stop: Option<isize>,
        /// The distance between neighbours; not 0.
        step: isize,
    },
    /// `...`: all indices of the axes that no other pick names.
    Rest,
}

impl Pick {
    /// The whole axis, `:`.
    pub const ALL: Pick = Pick::Range {
        start: None,
        stop: None,
        step: 1,
    };
}

/// The indices that are taken along each axis of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    picks: Vec<Pick>,
}

/// The reason why a text is not a selection. Items count from 1.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectionError {
    /// An item is empty.
    #[error("slice {text:?}: item {item} is empty; write `:` to take the whole axis")]
    EmptyItem {
        /// The text.
        text: String,
        /// Number of the item.
        item: usize,
    },
    /// A part of an item is not an integer.
    #[error(
        "slice {text:?}: {part:?} in item {item} is not an integer; \
         write an index (3), a range (10:20:2), `:` or `...`"
    )]
    NotAnInteger {
        /// The text.
        text: String,
        /// Number of the item.
        item: usize,
        /// The part that is not an integer.
        part: String,
    },
    /// An item has more than two colons.
    #[error("slice {text:?}: item {item} has more than two colons; write start:stop:step")]
    TooManyColons {
        /// The text.
        text: String,
        /// Number of the item.
        item: usize,
    },
    /// The step of an item is 0.
    #[error(
        "slice {text:?}: the step of item {item} is 0; write at least 1, or -1 to go backwards"
    )]
    ZeroStep {
        /// The text.
        text: String,
        /// Number of the item.
        item: usize,
    },
    /// The text has more than one `...`.
    #[error("slice {text:?} has more than one `...`; write `:` for single axes")]
    TwoRests {
        /// The text.
        text: String,
    },
}

/// The reason why a selection cannot be applied to an array.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SliceError {
    /// The selection names more axes than the array has.
    #[error("the slice names {given} axes, but the array of shape {shape:?} has {}", shape.len())]
    TooManyAxes {
        /// Number of axes that the selection names.
        given: usize,
        /// Shape of the array.
        shape: Vec<usize>,
    },
    /// An index is outside of its axis.
    #[error("index {index} is outside axis {axis} of length {len}; {}", usable(*len))]
    OutOfBounds {
        /// The axis.
        axis: usize,
        /// The index.
        index: isize,
        /// Length of the axis.
        len: usize,
    },
    /// A range has no index of its axis.
    #[error("the range {range} takes nothing of axis {axis}, which has length {len}")]
    Empty {
        /// The axis.
        axis: usize,
        /// The range as text.
        range: String,
        /// Length of the axis.
        len: usize,
    },
    /// The step of a range is 0.
    #[error("the step of axis {axis} is 0; use at least 1, or -1 to go backwards")]
    ZeroStep {
        /// The axis.
        axis: usize,
    },
    /// A range goes backwards, where only ranges that go forwards are possible.
    #[error("the step of axis {axis} is {step}; use at least 1 here")]
    Backwards {
        /// The axis.
        axis: usize,
        /// The step.
        step: isize,
    },
    /// The selection has more than one `...`.
    #[error("the slice has more than one `...`; use one")]
    TwoRests,
}

/// Says which indices an axis of length `len` has.
fn usable(len: usize) -> String {
    match len {
        0 => "it has no index".to_owned(),
        _ => format!("use {} to {}", -(len as i128), len as i128 - 1),
    }
}

impl Selection {
    /// Returns the selection of `picks`, one for each axis.
    pub fn new(picks: impl IntoIterator<Item = Pick>) -> Self {
        Selection {
            picks: picks.into_iter().collect(),
        }
    }

    /// Returns the selection of the whole array.
    pub fn all() -> Self {
        Self::default()
    }

    /// Returns the selection of index `index` of axis `axis`, and of the whole other axes. This is
    /// a plane of a 3-d array.
    pub fn fix(axis: usize, index: isize) -> Self {
        let whole = std::iter::repeat_n(Pick::ALL, axis);
        Self::new(whole.chain([Pick::Index(index)]))
    }

    /// Returns a view of the part of `array` that is selected. It copies nothing.
    ///
    /// ```
    /// use tcasm_analytics::Selection;
    /// let array = ndarray::array![[1, 2, 3], [4, 5, 6]].into_dyn();
    /// let selection: Selection = "-1,::2".parse().unwrap();
    /// assert_eq!(selection.of(array.view()).unwrap(), ndarray::array![4, 6].into_dyn());
    /// ```
    pub fn of<'a, T>(&self, array: ArrayViewD<'a, T>) -> Result<ArrayViewD<'a, T>, SliceError> {
        let elems = self.elems(array.shape())?;
        Ok(array.slice_move(elems.as_slice()))
    }

    /// Returns what is taken along each axis of an array of this shape, checked.
    pub(crate) fn elems(&self, shape: &[usize]) -> Result<Vec<SliceInfoElem>, SliceError> {
        let picks = self.for_shape(shape)?;
        let axes = picks.iter().zip(shape).enumerate();
        axes.map(|(axis, (pick, &len))| elem(*pick, axis, len))
            .collect()
    }

    /// Returns the picks, in the order of the axes.
    pub fn picks(&self) -> &[Pick] {
        &self.picks
    }

    /// Returns true if this is the selection of the whole array, whatever its shape is.
    pub fn is_all(&self) -> bool {
        matches!(self.picks[..], [] | [Pick::Rest])
    }

    /// Returns the smallest range of indices along each axis of an array of this shape that has all
    /// that is selected, and the same selection of the sub-array in these ranges. So only the
    /// sub-array needs to be in memory.
    ///
    /// ```
    /// use tcasm_analytics::Selection;
    /// let selection: Selection = "-1,5:1:-2".parse().unwrap();
    /// let (ranges, rest) = selection.within(&[3, 10]).unwrap();
    /// assert_eq!((ranges, rest.to_string().as_str()), (vec![2..3, 3..6], "0,::-2"));
    /// ```
    pub fn within(&self, shape: &[usize]) -> Result<(Vec<Range<usize>>, Selection), SliceError> {
        let elems = self.elems(shape)?.into_iter();
        let (ranges, picks): (Vec<_>, Vec<_>) = elems.map(bounds).unzip();
        Ok((ranges, Selection { picks }))
    }

    /// Returns one pick for each axis of `shape`.
    fn for_shape(&self, shape: &[usize]) -> Result<Vec<Pick>, SliceError> {
        let rests = self.picks.iter().filter(|p| **p == Pick::Rest).count();
        let given = self.picks.len() - rests;
        if rests > 1 {
            return Err(SliceError::TwoRests);
        }
        if given > shape.len() {
            return Err(SliceError::TooManyAxes {
                given,
                shape: shape.to_vec(),
            });
        }
        let whole = || std::iter::repeat_n(Pick::ALL, shape.len() - given);
        let at = self
            .picks
            .iter()
            .position(|p| *p == Pick::Rest)
            .unwrap_or(self.picks.len());
        let (before, after) = self.picks.split_at(at);
        let after = after.iter().skip(rests);
        Ok(before
            .iter()
            .copied()
            .chain(whole())
            .chain(after.copied())
            .collect())
    }
}

/// Returns the range that an element covers, and the pick that takes the same of this range.
fn bounds(elem: SliceInfoElem) -> (Range<usize>, Pick) {
    match elem {
        SliceInfoElem::Index(at) => (at as usize..at as usize + 1, Pick::Index(0)),
        SliceInfoElem::Slice { start, end, step } => {
            let end = end.expect("each range that was checked has an end");
            let pick = Pick::Range {
                start: None,
                stop: None,
                step,
            };
            (start as usize..end as usize, pick)
        }
        SliceInfoElem::NewAxis => unreachable!("no pick is a new axis"),
    }
}

/// Converts a pick to the type of ndarray, and checks it against the axis.
fn elem(pick: Pick, axis: usize, len: usize) -> Result<SliceInfoElem, SliceError> {
    match pick {
        Pick::Index(index) => {
            let i = from_end(index, len);
            if (0..len as i128).contains(&i) {
                Ok(SliceInfoElem::Index(i as isize))
            } else {
                Err(SliceError::OutOfBounds { axis, index, len })
            }
        }
        Pick::Range { step: 0, .. } => Err(SliceError::ZeroStep { axis }),
        Pick::Range {
            start: None,
            stop: None,
            step,
        } if len == 0 => Ok(SliceInfoElem::Slice {
            start: 0,
            end: Some(0),
            step,
        }),
        Pick::Range { start, stop, step } => {
            let range = pick.to_string();
            range_elem(start, stop, step, len).ok_or(SliceError::Empty { axis, range, len })
        }
        Pick::Rest => unreachable!("replaced by whole axes"),
    }
}

/// Converts a range by numpy's rules. Returns `None` if it takes nothing. Sums are `i128`, so they
/// cannot overflow.
fn range_elem(
    start: Option<isize>,
    stop: Option<isize>,
    step: isize,
    len: usize,
) -> Option<SliceInfoElem> {
    let n = len as i128;
    let forward = step > 0;
    let (low, high) = if forward { (0, n) } else { (-1, n - 1) };
    let place =
        |at: Option<isize>, default| at.map_or(default, |at| from_end(at, len).clamp(low, high));
    let first = place(start, if forward { low } else { high });
    let stop = place(stop, if forward { high } else { low });
    let span = if forward { stop - first } else { first - stop };
    if span <= 0 {
        return None;
    }
    let last = first + (span - 1) / (step as i128).abs() * step as i128;
    // ndarray takes start..end first. If the step is negative, it goes through that from the end.
    let (start, end) = (first.min(last) as isize, first.max(last) as isize + 1);
    let step = step.clamp(-isize::MAX, isize::MAX);
    Some(SliceInfoElem::Slice {
        start,
        end: Some(end),
        step,
    })
}

fn from_end(index: isize, len: usize) -> i128 {
    index as i128 + if index < 0 { len as i128 } else { 0 }
}
