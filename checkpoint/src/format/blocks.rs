//! Blocks of arrays: an array is written and read one block of its slowest dimension at a time.

use hdf5::{Dataset, Hyperslab, Selection, SliceOrIndex};
use std::ops::Range;

/// The approximate size of blocks and chunks in bytes. They are larger if a dataset would get too
/// many chunks.
pub const BLOCK: usize = 1 << 20;

/// Returns ranges of rows that make blocks of at least [`BLOCK`] bytes and never cut a chunk. An
/// array without values has no blocks.
pub fn blocks(
    shape: &[usize],
    chunk_rows: usize,
    item: usize,
) -> impl Iterator<Item = Range<usize>> {
    let row = shape[1..].iter().product::<usize>() * item;
    let rows = if row == 0 { 0 } else { shape[0] };
    let step = (BLOCK / row.max(1)).max(1).next_multiple_of(chunk_rows);
    (0..rows)
        .step_by(step)
        .map(move |from| from..rows.min(from + step))
}

/// Returns the number of rows of a chunk, or 1 if there are no chunks.
pub fn chunk_rows(dataset: &Dataset) -> usize {
    dataset.chunk().map_or(1, |chunk| chunk[0].max(1))
}

/// Returns the selection of `rows` of an array of `shape`.
pub fn rows_of(shape: &[usize], rows: Range<usize>) -> Selection {
    let all = shape[1..].iter().map(|&n| SliceOrIndex::from(0..n));
    let slices: Vec<SliceOrIndex> = std::iter::once(SliceOrIndex::from(rows))
        .chain(all)
        .collect();
    Selection::from(Hyperslab::from(slices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_rows_once_along_chunks() {
        for (shape, rows) in [(vec![10, 3], 4), (vec![1000, 1 << 18], 3), (vec![1], 1)] {
            let blocks: Vec<_> = blocks(&shape, rows, 8).collect();
            let covered: Vec<usize> = blocks.iter().cloned().flatten().collect();
            assert_eq!(covered, (0..shape[0]).collect::<Vec<_>>());
            assert!(blocks.iter().all(|b| b.start % rows == 0));
        }
    }

    #[test]
    fn arrays_without_values_have_no_blocks() {
        for shape in [vec![0], vec![0, 3], vec![3, 0], vec![0, 0]] {
            assert_eq!(blocks(&shape, 1, 8).count(), 0, "{shape:?}");
        }
    }
}
