//! Frames that are live memory of handed-over buffers. All frames of a buffer are in one plane.

use super::frames::Frames;
use super::plane::Planes;
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::sys::room::{refusal, strict_overcommit};
use std::io;
use std::ops::Range;

impl Planes {
    /// Lets frames consist of huge pages from now on: those that become live memory, and those of
    /// chunks that get their memory as a whole.
    pub fn allow_huge_pages(&mut self) {
        self.huge = true;
    }

    /// Returns true if frames may consist of huge pages.
    pub fn allows_huge_pages(&self) -> bool {
        self.huge
    }

    /// Takes memory for the frames of `pages` in `plane` that have none, so that storing to them
    /// needs none. The others keep their bytes. Frames without memory must be free, and memory of
    /// none may be on its way back to the system.
    pub fn secure(&mut self, plane: usize, pages: &Range<usize>) -> io::Result<()> {
        debug_assert!(self.missing(plane, pages).is_some());
        if self.planes[plane].account.held().count_in(pages.clone()) == pages.len() {
            return Ok(());
        }
        let frames = self.frames(plane, pages);
        let fresh = self.hold(&frames);
        let memory = &self.planes[plane].memory;
        let none_has_any = fresh.len() == pages.len();
        let allocated = match self.huge && none_has_any {
            true => memory.allocate_huge(pages),
            false => memory.allocate(pages),
        };
        if allocated.is_err() {
            self.unhold(&fresh);
        }
        allocated
    }

    /// Asks for huge pages for live frames, if they are to be gathered. All must have memory.
    pub fn ask_for_live_huge_pages(&self, plane: usize, pages: &Range<usize>) {
        if self.huge {
            self.planes[plane].memory.ask_for_huge_pages(pages);
        }
    }

    /// Returns true if the first memory of live frames should come where the program's threads
    /// store first, as that of private memory does: on a machine with several nodes of memory. With
    /// strict overcommit such a store could be a signal.
    pub fn has_first_touch(&self) -> bool {
        let nodes = self.nodes.as_ref();
        nodes.is_some_and(|nodes| nodes.refused().is_none()) && !strict_overcommit()
    }

    /// Counts the frames of `pages` in `plane` as held, although each gets memory only when it is
    /// stored to. They must be [filled](Planes::fill) before a version refers to them.
    pub fn leave_to_first_touch(&mut self, plane: usize, pages: &Range<usize>) -> io::Result<()> {
        self.planes[plane].memory.open(pages)?;
        for (_, set) in self.frames(plane, pages).iter() {
            self.planes[plane].account.enter(set);
        }
        self.touched = self.touched.max(plane + 1);
        Ok(())
    }

    /// Takes memory for the frames that were left to the first touch and were not stored to, if
    /// there is room for it.
    pub fn fill(&self, plane: usize, pages: &Range<usize>) -> io::Result<()> {
        let memory = &self.planes[plane].memory;
        let missing = pages.len() - memory.present()?.count_in(pages.clone());
        if missing == 0 {
            return Ok(());
        }
        match refusal((missing * self.page_size) as u64) {
            Some(why) => Err(io::Error::new(io::ErrorKind::OutOfMemory, why)),
            None => memory.allocate(pages),
        }
    }

    /// Returns the frames of `pages` in `plane`.
    pub fn frames(&self, plane: usize, pages: &Range<usize>) -> Frames {
        let mut set = PageSet::new(self.pages());
        set.insert_range(pages.clone());
        Frames::of(plane, set)
    }

    /// Returns how many frames of `pages` in `plane` have no memory. `None` if memory of some of
    /// them is being returned.
    pub fn missing(&self, plane: usize, pages: &Range<usize>) -> Option<usize> {
        let p = &self.planes[plane];
        let missing = pages.len() - p.account.held().count_in(pages.clone());
        (!p.account.leaving().intersects(pages.clone())).then_some(missing)
    }

    /// Maps the frames of `pages` in `plane` as live memory. `before` is the plane that was mapped
    /// there, if any. After an error that plane is still mapped there.
    ///
    /// # Safety
    /// `base` must be the region's live memory. `pages` must be a part of it that is the caller's
    /// alone, and nothing may be borrowed from it. No version may refer to these frames of `plane`.
    /// All must have memory, or get it when they are stored to, as private memory does.
    pub unsafe fn map_live(
        &self,
        base: *mut u8,
        pages: &Range<usize>,
        before: Option<usize>,
        plane: usize,
    ) -> io::Result<()> {
        let bytes = self.whole_chunks(pages);
        if self.huge {
            // All bytes that are moved together need the same advice. Otherwise the kernel does not
            // move them.
            self.planes[plane].memory.allow_huge_pages(&bytes);
        }
        if let Some(before) = before {
            // SAFETY: the caller promises that this part of live memory is its alone and that
            // nothing is borrowed from it.
            unsafe { self.planes[before].memory.move_from_live(base, &bytes)? };
        }
        // SAFETY: as above; no version refers to the frames.
        unsafe { self.planes[plane].memory.move_to_live(base, &bytes) }
    }

    /// Returns the range of bytes of `pages` in the region.
    pub fn bytes_of(&self, pages: &Range<usize>) -> Range<usize> {
        pages.start * self.page_size..pages.end * self.page_size
    }

    /// Returns the range of bytes of `pages`, up to the end of their last chunk. Nothing else uses
    /// the rest of that chunk, so page tables can be moved as a whole.
    pub fn whole_chunks(&self, pages: &Range<usize>) -> Range<usize> {
        let end = pages.end.next_multiple_of(CHUNK_PAGES).min(self.pages());
        self.bytes_of(&(pages.start..end))
    }
}
