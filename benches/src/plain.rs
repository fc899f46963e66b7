//! Memory of a program that has no region.

use ndarray::{Array, Dimension, ShapeBuilder};
use std::ops::Range;
use tcasm_core::sys::live;
use tcasm_core::sys::mem::HUGE_PAGE;

/// Returns an array of ones. All its memory is touched. The huge pages that fit inside are used if
/// the machine has them. The memory before the first and after the last of them shares its huge
/// pages with other memory, which has had no such advice. So it has huge pages only if the machine
/// gives them to all memory.
pub fn huge_array<Sh: ShapeBuilder>(shape: Sh) -> Array<f64, Sh::Dim>
where
    Sh::Dim: Dimension,
{
    advised(shape, live::huge_pages)
}

/// Returns an array of ones. All its memory is touched. None of the huge pages that fit inside is
/// used. The memory before the first and after the last of them may be in huge pages, if the
/// machine gives them to all memory.
pub fn small_array<Sh: ShapeBuilder>(shape: Sh) -> Array<f64, Sh::Dim>
where
    Sh::Dim: Dimension,
{
    advised(shape, live::no_huge_pages)
}

/// Returns an array of ones. Calls `advise` before any of its memory is touched, with the range of
/// all huge pages that fit inside.
fn advised<Sh: ShapeBuilder>(shape: Sh, advise: fn(&Range<usize>)) -> Array<f64, Sh::Dim>
where
    Sh::Dim: Dimension,
{
    // Memory for zeros of this size is not touched yet, so the advice still has an effect.
    let mut array = Array::zeros(shape);
    let start = array.as_ptr() as usize;
    let end = start + array.len() * size_of::<f64>();
    let inside = start.next_multiple_of(HUGE_PAGE)..end / HUGE_PAGE * HUGE_PAGE;
    if !inside.is_empty() {
        advise(&inside);
    }
    array.fill(1.0);
    array
}
