//! Leaves chunks of live memory untracked while they become huge pages again.
//!
//! The kernel gathers only pages that are not protected. So a chunk is not tracked from one publish
//! to the next, while the keeper gathers it, and is then compared with the newest version as a
//! whole. That takes time of a publish, so it happens to cold chunks only, which are hardly ever
//! written meanwhile.

use super::memory::LiveMemory;
use std::ops::Range;
use tcasm_core::pageset::CHUNK_PAGES;

impl LiveMemory {
    /// Stops tracking `chunk`, so that it can be gathered, until [`end_gathering`] is called.
    /// Returns its addresses, or `None` if it was gathered lately or must stay tracked.
    ///
    /// Nobody may write during the call. The chunk must be private, tracked and not shared.
    ///
    /// [`end_gathering`]: LiveMemory::end_gathering
    pub(crate) fn begin_gathering(&mut self, chunk: usize) -> Option<Range<usize>> {
        let pages = chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES;
        if !self.gathering.is_due(chunk) {
            return None;
        }
        if let Err(error) = self.memory.tracker().suspend(&pages) {
            log::debug!("pages {pages:?} stay small: {error}");
            return None;
        }
        self.gathering.begun.push(pages.clone());
        Some(self.addresses(&pages))
    }

    /// Tracks the chunks again that are being gathered. Returns their pages, which may have been
    /// written meanwhile.
    pub(crate) fn end_gathering(&mut self) -> Vec<Range<usize>> {
        let begun = std::mem::take(&mut self.gathering.begun);
        begun.iter().for_each(|pages| self.resume(pages.clone()));
        begun
    }
}
