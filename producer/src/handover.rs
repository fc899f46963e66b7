//! Handed-over fields: rewritten whole, and published without a copy.

use crate::error::{DefineError, ViewError};
use crate::fields::Memory;
use crate::handles::HandedOver;
use crate::keeper::lock;
use crate::producer::Producer;
use crate::views::{Access, Request, Viewable};
use ndarray::{ArrayViewMut, AssignElem, Dimension};
use std::ops::Range;
use tcasm_core::field::Element;

/// An element that is written, and not read: what it was before is of no use.
///
/// ndarray's ways of filling an array take it: `Zip::from(&a).map_assign_into(view, |a| a + 1.0)`, `a.assign_to(view)`,
/// `view.fill(WriteOnly::new(0.0))`; and there is [`WriteOnly::write`].
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct WriteOnly<T>(T);

impl<T> WriteOnly<T> {
    /// An element of this value.
    pub fn new(value: T) -> Self {
        WriteOnly(value)
    }

    /// Write the element.
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

/// The view without the right to read.
#[allow(unsafe_code)]
pub(crate) fn write_only<T, D: Dimension>(
    mut view: ArrayViewMut<'_, T, D>,
) -> ArrayViewMut<'_, WriteOnly<T>, D> {
    let raw = view.raw_view_mut().cast::<WriteOnly<T>>();
    // SAFETY: the same memory for the same lifetime, which `view` alone had, and which it is not used for any more;
    // WriteOnly<T> is a T in memory.
    unsafe { raw.deref_into_view_mut() }
}

impl Producer {
    /// Begin the next rewriting of a handed-over field or buffer.
    ///
    /// If it was published, it gets other pages: what a version has is not touched. What is in them is undefined, so that every
    /// element has to be written before the next publish, ghost layers included. The view cannot be read; when that is done,
    /// [`Producer::view_mut`] and the others work as for any buffer, until the next publish. To read other buffers meanwhile
    /// there is [`Producer::views_mut`]: `producer.views_mut((now.read(), next.rewrite()))`.
    ///
    /// Never waits, and never lacks pages: publish sees to that, and skips where it cannot.
    pub fn rewrite<T: Element, D: Dimension>(
        &mut self,
        of: impl Viewable<T, D, HandedOver>,
    ) -> Result<ArrayViewMut<'_, WriteOnly<T>, D>, ViewError> {
        let buffer = of.buffer_in(self);
        let [view] = self.views_mut([buffer.rewrite()])?;
        Ok(view)
    }

    /// Make a buffer ready for what is going to be done with it.
    #[allow(unsafe_code)]
    pub(crate) fn prepare(&mut self, request: &Request) -> Result<(), ViewError> {
        let Memory::Lent(number) = self.buffers[request.buffer].memory else {
            return Ok(());
        };
        match request.access {
            Access::Read => Ok(()),
            Access::Write if lock(&self.store).is_frozen(number) => Err(ViewError::Frozen),
            Access::Write => Ok(()),
            Access::Rewrite => {
                // SAFETY: the region's live memory; views of it borrow the producer, which is borrowed here.
                unsafe { lock(&self.store).rewrite(number) }.map_err(ViewError::Rewrite)
            }
        }
    }

    /// Live memory that is handed over.
    #[allow(unsafe_code)]
    pub(crate) fn lend(
        &mut self,
        what: &str,
        bytes: u64,
    ) -> Result<(Range<usize>, Memory), DefineError> {
        let pages = self.region.allocate_chunks(what, bytes)?;
        // SAFETY: the region's live memory, kept as long as the producer; these pages and the rest of their last chunk were
        // just allocated, to nobody else.
        let number = unsafe { lock(&self.store).hand_over(self.region.ptr(), pages.clone())? };
        Ok((pages, Memory::Lent(number)))
    }

    /// The handed-over buffers that were rewritten since they were published, of those that are bound to a field.
    pub(crate) fn rewritten(&self) -> Vec<usize> {
        let lent = |f: &crate::fields::FieldInfo| match self.buffers[f.buffer].memory {
            Memory::Lent(number) if !lock(&self.store).is_frozen(number) => Some(number),
            _ => None,
        };
        self.fields.iter().filter_map(lent).collect()
    }

    /// Pages of these buffers.
    pub(crate) fn pages_handed(&self, numbers: &[usize]) -> u64 {
        let pages = |b: &crate::fields::BufferInfo| match b.memory {
            Memory::Lent(number) if numbers.contains(&number) => b.pages.len() as u64,
            _ => 0,
        };
        self.buffers.iter().map(pages).sum()
    }
}
