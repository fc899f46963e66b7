//! The live memory of a producer, and how its pages are handed out to buffers.

use super::deferred::DeferredChunks;
use super::dma::DmaCheck;
use super::gathering::Gathering;
use super::shared::SharedPages;
use super::vacated::Vacated;
use crate::error::DefineError;
use std::ops::Range;
use std::sync::Arc;
use tcasm_core::capture::Gate;
use tcasm_core::field::FieldDesc;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::segments::Segments;
use tcasm_core::sys::live::read_ahead;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::pinned::Announced;
use tcasm_core::sys::readable::unreadable;
use tcasm_core::track::{Span, TrackError, TrackedMemory, TrackerKind};

/// The live memory of a producer. Its members are dropped in this order: the tracked memory before
/// the addresses that it uses.
pub(crate) struct LiveMemory {
    pub(crate) memory: TrackedMemory,
    reservation: Mapping,
    pub(crate) span: Span,
    pub(super) next: usize,
    /// The pages of adopted arrays, which lie elsewhere.
    pub(crate) adopted: PageSet,
    /// The pages that adopted arrays have left.
    pub(crate) vacated: Vacated,
    /// Where the pages are.
    pub(crate) segments: Arc<Segments>,
    /// Pages that could not be tracked again. They are compared in every version.
    pub(crate) untracked: PageSet,
    /// The chunks whose capture is deferred.
    pub(crate) deferred: DeferredChunks,
    /// The pages that are shared with planes.
    pub(crate) shared: SharedPages,
    /// The chunks that become huge pages again.
    pub(super) gathering: Gathering,
    /// Finds out whether memory may be locked for DMA.
    pub(crate) dma: DmaCheck,
    /// The parts of the region that were registered for devices since the last publish.
    pub(crate) announced: Arc<Announced>,
}

/// The changes of live memory that are allowed behind the back of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// Cold chunks are shared with planes.
    pub(crate) sharing: bool,
    /// Pages are gathered into huge pages.
    pub(crate) huge_pages: bool,
}

impl LiveMemory {
    /// Tracks the reserved pages of `span` with a tracker of `kind`. Captures can be deferred if
    /// there is a gate.
    #[allow(unsafe_code)]
    pub(crate) fn create(
        reservation: Mapping,
        kind: TrackerKind,
        span: Span,
        segments: Arc<Segments>,
        gate: Option<Arc<Gate>>,
        allowed: Allowed,
    ) -> Result<Self, TrackError> {
        // SAFETY: the span is the reservation, which is kept as long as the tracked memory (they
        // are dropped together, the tracked memory first). Nothing else maps over pages that it
        // maps: each page is handed out once. Nothing is borrowed from pages before they are handed
        // out.
        let mut memory = unsafe { TrackedMemory::create(kind, span)? };
        memory.allow_huge_pages(allowed.huge_pages);
        memory.adopt_into(segments.clone());
        Ok(LiveMemory {
            memory,
            reservation,
            span,
            next: 0,
            adopted: PageSet::new(span.pages),
            vacated: Vacated::default(),
            segments,
            untracked: PageSet::new(span.pages),
            deferred: DeferredChunks::new(span.pages, gate),
            shared: SharedPages::new(span.pages, allowed.sharing),
            gathering: Gathering::default(),
            dma: DmaCheck::default(),
            announced: Announced::collect(span.addresses(&(0..span.pages))),
        })
    }

    /// Returns the bytes of the region.
    pub(crate) fn bytes(&self) -> u64 {
        (self.span.pages * self.span.page_size) as u64
    }

    /// Returns a pointer to the first byte of live memory.
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.reservation.ptr()
    }

    /// Allocates tracked live memory for `bytes` bytes.
    pub(crate) fn allocate(&mut self, what: &str, bytes: u64) -> Result<Range<usize>, DefineError> {
        let pages = self.room(what, bytes, 1)?;
        self.memory.map(pages.clone())?;
        self.next = pages.end;
        Ok(pages)
    }

    /// Allocates tracked live memory at the offset that `desc` gives, and returns its pages. The
    /// field must lie in the region, behind all memory that was handed out.
    pub(crate) fn allocate_at(&mut self, desc: &FieldDesc) -> Result<Range<usize>, DefineError> {
        let page_size = self.span.page_size as u64;
        let (name, offset) = (|| desc.name.clone(), desc.offset);
        let align = desc.align(page_size);
        if !offset.is_multiple_of(align) {
            let name = name();
            return Err(DefineError::Unaligned {
                name,
                offset,
                align,
            });
        }
        let used = self.next as u64 * page_size;
        if offset < used {
            let name = name();
            return Err(DefineError::Taken { name, offset, used });
        }
        let end = offset + desc.capacity_bytes();
        let pages = (offset / page_size) as usize..end.div_ceil(page_size) as usize;
        self.memory.map(pages.clone())?;
        self.next = pages.end;
        Ok(pages)
    }

    /// Allocates live memory that is not tracked.
    pub(crate) fn allocate_scratch(
        &mut self,
        what: &str,
        bytes: u64,
    ) -> Result<Range<usize>, DefineError> {
        let pages = self.room(what, bytes, 1)?;
        self.map_scratch(&pages)?;
        self.next = pages.end;
        Ok(pages)
    }

    /// Allocates pages for `bytes` bytes that begin with a chunk and share their last chunk with no
    /// other buffer. The pages are not mapped.
    pub(crate) fn allocate_chunks(
        &mut self,
        what: &str,
        bytes: u64,
    ) -> Result<Range<usize>, DefineError> {
        let pages = self.room(what, bytes, CHUNK_PAGES)?;
        self.next = pages.end.next_multiple_of(CHUNK_PAGES).min(self.span.pages);
        Ok(pages)
    }

    /// Returns the next free pages for `bytes` bytes, from a multiple of `align` on.
    fn room(&self, what: &str, bytes: u64, align: usize) -> Result<Range<usize>, DefineError> {
        let page = self.span.page_size as u64;
        let start = self.next.next_multiple_of(align);
        let free = self.span.pages.saturating_sub(start) as u64 * page;
        if bytes > free {
            let (what, capacity) = (what.to_owned(), self.bytes());
            return Err(DefineError::Capacity {
                what,
                needed: bytes,
                free,
                capacity,
            });
        }
        Ok(start..start + bytes.div_ceil(page) as usize)
    }

    /// Returns the addresses of pages.
    pub(crate) fn addresses(&self, pages: &Range<usize>) -> Range<usize> {
        self.span.addresses(pages)
    }

    /// Removes from `pages` those that cannot be read because the program has unmapped or protected
    /// them. Adopted arrays, which are read in another way, all stay. Pages that can be read ahead
    /// as a whole can be read. The kernel is asked for single pages only in the rest.
    pub(crate) fn keep_readable(&self, pages: &mut PageSet) {
        let mut own = pages.clone();
        own.subtract(&self.adopted);
        for run in own.runs() {
            for start in run.clone().step_by(CHUNK_PAGES) {
                let part = start..run.end.min(start + CHUNK_PAGES);
                if read_ahead(&self.addresses(&part)).is_err() {
                    self.unreadable_in(part)
                        .for_each(|page| pages.remove_range(page..page + 1));
                }
            }
        }
    }

    fn unreadable_in(&self, pages: Range<usize>) -> impl Iterator<Item = usize> {
        let Span {
            base, page_size, ..
        } = self.span;
        let found = unreadable(pages.map(|page| (base + page * page_size) as *const u8));
        let page = move |at: *const u8| (at as usize - base) / page_size;
        found.into_iter().map(page)
    }

    #[allow(unsafe_code)]
    fn map_scratch(&self, pages: &Range<usize>) -> Result<(), DefineError> {
        if self.memory.has_reserved_pages() {
            return Ok(()); // they are mapped already
        }
        let (at, len) = (
            pages.start * self.span.page_size,
            pages.len() * self.span.page_size,
        );
        // SAFETY: pages from `next` on were never handed out, so nothing is borrowed from them.
        unsafe { self.reservation.put_zero(at, len, true)? };
        Ok(())
    }
}
