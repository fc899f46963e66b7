//! Handed-over fields: they are rewritten whole, and published without a copy.

use crate::error::{DefineError, ViewError};
use crate::fields::Memory;
use crate::handles::HandedOver;
use crate::keeper::lock;
use crate::producer::Producer;
use crate::views::{Access, Request, Viewable};
use ndarray::{ArrayViewMut, AssignElem, Dimension};
use std::ops::Range;
use tcasm_core::field::Element;

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

impl Producer {
    /// Begins the next rewriting of a handed-over field or buffer.
    ///
    /// If the buffer was published it gets other pages, so the pages that a version has stay
    /// untouched. The content of the new pages is undefined, so every element must be written
    /// before the next publish, ghost layers included. The returned view cannot be read. Once all
    /// is written, [`Producer::view_mut`] and the others work as for any buffer, until the next
    /// publish. To read other buffers meanwhile, use [`Producer::views_mut`]:
    /// `producer.views_mut((now.read(), next.rewrite()))`.
    ///
    /// Never waits and never runs out of pages: publish reserves them, and skips where it cannot.
    pub fn rewrite<T: Element, D: Dimension>(
        &mut self,
        of: impl Viewable<T, D, HandedOver>,
    ) -> Result<ArrayViewMut<'_, WriteOnly<T>, D>, ViewError> {
        let buffer = of.buffer_in(self);
        let [view] = self.views_mut([buffer.rewrite()])?;
        Ok(view)
    }

    /// Prepares a buffer for the requested access.
    #[allow(unsafe_code)]
    pub(crate) fn prepare(&mut self, request: &Request) -> Result<(), ViewError> {
        let Memory::HandedOver(number) = self.buffers[request.buffer].memory else {
            return Ok(());
        };
        match request.access {
            Access::Read => Ok(()),
            Access::Write if lock(&self.store).is_frozen(number) => Err(ViewError::Frozen),
            Access::Write => Ok(()),
            Access::Rewrite => {
                // SAFETY: live memory is where it was for `hand_over`. Views of it borrow the
                // producer, which is borrowed mutably here, so nothing is borrowed from the buffer.
                unsafe { lock(&self.store).rewrite(number) }.map_err(ViewError::Rewrite)
            }
        }
    }

    /// Allocates live memory for a handed-over buffer.
    #[allow(unsafe_code)]
    pub(crate) fn allocate_handed_over(
        &mut self,
        what: &str,
        bytes: u64,
    ) -> Result<(Range<usize>, Memory), DefineError> {
        let pages = self.live.allocate_chunks(what, bytes)?;
        // SAFETY: `ptr` is the region's live memory, which is kept as long as the producer. These
        // pages and the rest of their last chunk were just allocated, and nobody else uses them.
        let number = unsafe { lock(&self.store).hand_over(self.live.ptr(), pages.clone())? };
        Ok((pages, Memory::HandedOver(number)))
    }

    /// Returns the numbers of the handed-over buffers that are bound to a field and were begun anew
    /// since they were published.
    pub(crate) fn rewritten(&self) -> Vec<usize> {
        let begun = |f: &crate::fields::FieldInfo| match self.buffers[f.buffer].memory {
            Memory::HandedOver(number) if !lock(&self.store).is_frozen(number) => Some(number),
            _ => None,
        };
        self.fields.iter().filter_map(begun).collect()
    }

    /// Returns how many pages these buffers have.
    pub(crate) fn pages_handed(&self, numbers: &[usize]) -> u64 {
        let pages = |b: &crate::fields::BufferInfo| match b.memory {
            Memory::HandedOver(number) if numbers.contains(&number) => b.pages.len() as u64,
            _ => 0,
        };
        self.buffers.iter().map(pages).sum()
    }
}
