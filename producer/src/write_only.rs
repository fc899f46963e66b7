//! Elements that can be written but not read, for handed-over fields.

use ndarray::{ArrayViewMut, AssignElem, Dimension};

/// An element that can be written but not read, because its old value has no meaning.
///
/// The functions of ndarray that fill an array accept it:
/// `Zip::from(&a).map_assign_into(view, |a| a + 1.0)`, `a.assign_to(view)`,
/// `view.fill(WriteOnly::new(0.0))`. There is also [`WriteOnly::write`].
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct WriteOnly<T>(T);

impl<T> WriteOnly<T> {
    /// Returns an element with this value.
    pub fn new(value: T) -> Self {
        WriteOnly(value)
    }

    /// Writes the element.
    #[inline(always)]
    pub fn write(&mut self, value: T) {
        self.0 = value;
    }
}

impl<T> std::fmt::Debug for WriteOnly<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteOnly")
    }
}

impl<T> AssignElem<T> for &mut WriteOnly<T> {
    #[inline(always)]
    fn assign_elem(self, value: T) {
        self.write(value);
    }
}

/// Returns the same view without the right to read.
#[allow(unsafe_code)]
pub(crate) fn write_only<T, D: Dimension>(
    mut view: ArrayViewMut<'_, T, D>,
) -> ArrayViewMut<'_, WriteOnly<T>, D> {
    let raw = view.raw_view_mut().cast::<WriteOnly<T>>();
    // SAFETY: the new view is of the same memory for the same lifetime. `view` was the only one of
    // that memory, and is not used any more. `WriteOnly<T>` has the layout of `T`.
    unsafe { raw.deref_into_view_mut() }
}
