//! Finds copies of shared pages that the program has dropped.
//!
//! A page of a shared chunk that differs from its frame has a copy of its own. `MADV_DONTNEED`
//! takes the copy away without a fault, and live memory is the frame again. No version keeps that
//! frame for live memory: the newest version has the page elsewhere. No tracker reports this,
//! because the kernel keeps such a page write-protected. So publish reads the page map of the
//! process, a few chunks at a time. A page that it finds is compared with the newest version, like
//! every maybe dirty page, and is copied in place.
//!
//! An event of userfaultfd (`UFFD_EVENT_REMOVE`) would report the drop at once, but then the
//! program would wait in `madvise` until a thread of the producer has read it.

use super::memory::LiveMemory;
use std::ops::Range;
use std::time::Instant;
use tcasm_core::pageset::{CHUNK_PAGES, ChunkBits, PageSet};
use tcasm_core::sys::mem::swap_in_use;
use tcasm_core::track::TrackError;

impl LiveMemory {
    /// Checks as many chunks as there is time for. Returns the pages whose copies were dropped.
    pub(crate) fn look_for_dropped(&mut self) -> Result<PageSet, TrackError> {
        let mut dropped = PageSet::new(self.span.pages);
        let shared = &mut self.shared;
        shared.rounds.earn(Instant::now());
        // An absent page may be in swap, and checking it would bring it in. So absent pages are
        // checked only if no swap is in use.
        let absent = shared.chunks() != 0 && !swap_in_use();
        let mut copies = PageSet::new(self.span.pages);
        for _ in 0..shared.chunks() {
            let Some(chunk) = shared.next_from(shared.rounds.next) else {
                break;
            };
            let own = shared.copies(chunk);
            if own != ChunkBits::default() {
                *copies.chunk_mut(chunk) = own;
                let memory = &mut self.memory;
                memory.dropped_copies(&pages_of(chunk), &copies, absent, &mut dropped)?;
            }
            if !shared.rounds.spend(chunk, Instant::now()) {
                break;
            }
        }
        Ok(dropped)
    }
}

fn pages_of(chunk: usize) -> Range<usize> {
    chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES
}
