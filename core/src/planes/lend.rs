//! Slots that are live memory: all those of a buffer at once, in one plane.

use super::{Planes, Slots};
use crate::pageset::{CHUNK_PAGES, PageSet};
use std::io;
use std::ops::Range;

impl Planes {
    /// See that the slots of `pages` in `plane` have memory, so that storing to them needs none. What has some keeps its
    /// bytes; the others must be free.
    pub fn secure(&mut self, plane: usize, pages: &Range<usize>) -> io::Result<()> {
        if self.planes[plane].account.held().count_in(pages.clone()) == pages.len() {
            return Ok(());
        }
        let slots = self.slots(plane, pages);
        let fresh = self.hold(&slots);
        let allocated = self.planes[plane].memory.allocate(pages);
        if allocated.is_err() {
            self.unhold(&fresh);
        }
        allocated
    }

    /// `pages` of `plane`.
    pub fn slots(&self, plane: usize, pages: &Range<usize>) -> Slots {
        let mut set = PageSet::new(self.pages());
        set.insert_range(pages.clone());
        Slots::of(plane, set)
    }

    /// How many slots of `pages` in `plane` have no memory; none, if some are leaving.
    pub fn missing(&self, plane: usize, pages: &Range<usize>) -> Option<usize> {
        let p = &self.planes[plane];
        let missing = pages.len() - p.account.held().count_in(pages.clone());
        (!p.account.leaving().intersects(pages.clone())).then_some(missing)
    }

    /// Let live memory at `base` be `pages` of `plane`; before it was those of `before`, if any. After an error it still is.
    ///
    /// # Safety
    /// `base` must be the region's live memory, and `pages` a part of it that is the caller's alone, with nothing borrowed
    /// from it. No version may refer to these slots of `plane`, and all must have memory.
    pub unsafe fn lend(
        &self,
        base: *mut u8,
        pages: &Range<usize>,
        before: Option<usize>,
        plane: usize,
    ) -> io::Result<()> {
        let bytes = self.whole_chunks(pages);
        if let Some(before) = before {
            // SAFETY: the caller's promise.
            unsafe { self.planes[before].memory.move_from_live(base, &bytes)? };
        }
        // SAFETY: the caller's promise.
        unsafe { self.planes[plane].memory.move_to_live(base, &bytes) }
    }

    /// Where the bytes of `pages` lie in the region.
    pub fn bytes_of(&self, pages: &Range<usize>) -> Range<usize> {
        pages.start * self.page_size..pages.end * self.page_size
    }

    /// The bytes of `pages` up to the end of their last chunk, which nobody else uses: so page tables move whole.
    pub fn whole_chunks(&self, pages: &Range<usize>) -> Range<usize> {
        let end = pages.end.next_multiple_of(CHUNK_PAGES).min(self.pages());
        self.bytes_of(&(pages.start..end))
    }
}
