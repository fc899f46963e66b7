//! A checksum, to find out whether two runs ended with the same bits.

use ndarray::{ArrayView3, Axis, Zip};
use rayon::prelude::*;

/// Returns a checksum of every bit of `cells`: the sum of `bits[i] * (2 i + 1)` modulo 2^64, in C
/// order.
///
/// The multipliers are odd, so a change of one cell always changes the sum. They differ, so that
/// exchanged cells change it as well. In numpy:
/// `(a.view('u8').ravel() * (2 * np.arange(a.size, dtype='u8') + 1)).sum()`.
pub fn checksum(cells: ArrayView3<'_, f64>) -> u64 {
    checksum_of_planes(cells, 0)
}

/// Returns the share of planes in the [`checksum`] of a grid, from plane `first` of it on. The sum
/// of all shares modulo 2^64 is the checksum.
pub fn checksum_of_planes(cells: ArrayView3<'_, f64>, first: usize) -> u64 {
    let plane = cells.len_of(Axis(1)) * cells.len_of(Axis(2));
    let planes: Vec<_> = cells.axis_iter(Axis(0)).collect();
    let sum_plane = |(z, plane_cells): (usize, _)| {
        let mut index = ((first + z) * plane) as u64;
        Zip::from(plane_cells).fold(0u64, |sum, cell: &f64| {
            let weight = 2 * index + 1;
            index += 1;
            sum.wrapping_add(cell.to_bits().wrapping_mul(weight))
        })
    };
    planes
        .into_par_iter()
        .enumerate()
        .map(sum_plane)
        .reduce(|| 0, u64::wrapping_add)
}
