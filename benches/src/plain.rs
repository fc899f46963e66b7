//! Memory of a program that has no region.

use ndarray::{Array, Array1, Dimension, IntoDimension, s};
use std::ops::Range;
use tcasm_core::sys::live;
use tcasm_core::sys::mem::HUGE_PAGE;

/// Returns an array of ones. It begins with a huge page, as fields of a region begin with a page,
/// so it is not slower because its values lie across cache lines. All its memory is touched, and is
/// in huge pages if the machine has them. The memory after the last of those that fit inside has
/// them only if the machine gives them to all memory.
pub fn huge_array<D: IntoDimension>(shape: D) -> Array<f64, D::Dim> {
    advised(shape, live::huge_pages)
}

/// Returns such an array, of which no memory is in huge pages. The memory after the last of those
/// that fit inside may be, if the machine gives them to all memory.
pub fn small_array<D: IntoDimension>(shape: D) -> Array<f64, D::Dim> {
    advised(shape, live::no_huge_pages)
}

/// Returns an array of ones that begins with a huge page. Calls `advise` before any of its memory
/// is touched, with the range of all huge pages that fit inside.
fn advised<D: IntoDimension>(shape: D, advise: fn(&Range<usize>)) -> Array<f64, D::Dim> {
    let shape = shape.into_dimension();
    let (values, in_page) = (shape.size(), HUGE_PAGE / size_of::<f64>());
    // Memory for zeros of this size is not touched yet, so the advice still has an effect.
    let memory = Array1::<f64>::zeros(values + in_page);
    let start = memory.as_ptr().addr();
    let skipped = (start.next_multiple_of(HUGE_PAGE) - start) / size_of::<f64>();
    let mut array = memory.slice_move(s![skipped..skipped + values]);
    let start = array.as_ptr().addr();
    let end = start + values * size_of::<f64>();
    let inside = start..end / HUGE_PAGE * HUGE_PAGE;
    if !inside.is_empty() {
        advise(&inside);
    }
    array.fill(1.0);
    array
        .into_shape_with_order(shape)
        .expect("as many values, in one piece")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_all_shapes_begin_with_a_huge_page() {
        for values in [1, 100, 300_000, 1 << 20] {
            let array = huge_array(values);
            assert!(array.as_ptr().addr().is_multiple_of(HUGE_PAGE), "{values}");
            assert_eq!(array.as_slice(), Some(&vec![1.0; values][..]));
        }
        let (array, other) = (huge_array([40, 50, 60]), small_array([40, 50, 60]));
        assert!(array.is_standard_layout() && array == other);
        assert!(other.as_ptr().addr().is_multiple_of(HUGE_PAGE));
    }
}
