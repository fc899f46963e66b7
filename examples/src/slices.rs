//! Views of arrays as slices.

use ndarray::{ArrayViewMut, ArrayViewMut2, Dimension};

/// Returns the elements of an array.
///
/// # Panics
/// Panics if the last index is not the fastest one in memory.
pub fn flat<T, D: Dimension>(view: ArrayViewMut<'_, T, D>) -> &mut [T] {
    view.into_slice()
        .expect("the last index is the fastest one in memory")
}

/// Returns the rows of an array with three columns.
///
/// # Panics
/// Panics if the last index is not the fastest one in memory.
pub fn rows<T>(view: ArrayViewMut2<'_, T>) -> &mut [[T; 3]] {
    flat(view).as_chunks_mut::<3>().0
}
