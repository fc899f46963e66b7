//! The place of the rows of a series in a virtual dataset.

use crate::write::virtual_dataset::block;
use hdf5::Selection;
use std::ops::Range;

/// The place of rows in a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// There is only one row. It is so only under `/VTKHDF` of a series with one version.
    Single,
    /// The dataset has a dimension for rows.
    Stacked,
    /// The rows lie one after the other along the first axis, in slots of this size.
    Slots(usize),
}

impl Rows {
    /// Returns the shape of a dataset with `count` rows of the shape `row`.
    pub fn extents(self, count: usize, row: &[usize]) -> Vec<usize> {
        match self {
            Rows::Single => row.to_vec(),
            Rows::Stacked => [&[count][..], row].concat(),
            Rows::Slots(slot) => [&[count * slot][..], &row[1..]].concat(),
        }
    }

    /// Returns the selection of `part` of each of the rows `rows`.
    pub fn select(self, rows: Range<usize>, part: &[Range<usize>]) -> Selection {
        block(self.ranges(rows, part).into_iter())
    }

    /// Returns the ranges of [`Rows::select`].
    pub fn ranges(self, rows: Range<usize>, part: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut ranges = part.to_vec();
        match self {
            Rows::Single => {}
            Rows::Stacked => ranges.insert(0, rows),
            Rows::Slots(slot) => {
                // Several rows are taken with all of their slots.
                let last = (rows.end - 1) * slot;
                let end = if rows.len() > 1 { slot } else { part[0].end };
                ranges[0] = rows.start * slot + part[0].start..last + end;
            }
        }
        ranges
    }

    /// Returns `part` of a row with all of its slot.
    pub fn whole(self, part: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut part = part.to_vec();
        if let Rows::Slots(slot) = self {
            part[0] = 0..slot;
        }
        part
    }
}

/// Returns all of an array of `shape`.
pub fn all(shape: &[usize]) -> Vec<Range<usize>> {
    shape.iter().map(|&n| 0..n).collect()
}
