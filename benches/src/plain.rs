//! Memory of a program that has no region.

use ndarray::{Array, Dimension, ShapeBuilder};
use tcasm_core::sys::live;

/// Returns an array of ones. All its memory is touched. It uses huge pages if the machine has them,
/// like the live memory of a region.
pub fn huge_array<Sh: ShapeBuilder>(shape: Sh) -> Array<f64, Sh::Dim>
where
    Sh::Dim: Dimension,
{
    const HUGE: usize = tcasm_core::sys::mem::HUGE_PAGE;
    // Memory for zeros of this size is not touched yet, so the advice still has an effect.
    let mut array = Array::zeros(shape);
    let start = array.as_ptr() as usize;
    let end = start + array.len() * size_of::<f64>();
    let inside = start.next_multiple_of(HUGE)..end / HUGE * HUGE;
    if !inside.is_empty() {
        live::huge_pages(&inside);
    }
    array.fill(1.0);
    array
}
