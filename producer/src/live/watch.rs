//! Hands chunks over from the tracker to the gate, which watches them while their capture is
//! deferred, and back.

use super::memory::LiveMemory;
use std::ops::Range;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::sys::live::check_mapped;
use tcasm_core::track::TrackError;

impl LiveMemory {
    /// Has the gate watch `pages`, whole chunks, from now on. Returns false if that is not
    /// possible.
    ///
    /// # Safety
    /// Nobody writes during the call, and nobody has written the pages since they were captured.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn defer(&mut self, pages: &Range<usize>) -> bool {
        let Some(gate) = self.deferred.gate().cloned() else {
            return false;
        };
        if self.deferred.is_full() {
            return false;
        }
        // Copiers must not meet pages that are not mapped.
        if let Err(error) = check_mapped(&self.addresses(pages)) {
            log::debug!("pages {pages:?} are captured inside publish: {error}");
            return false;
        }
        // SAFETY: the caller promises that nobody writes during the call.
        if let Err(error) = unsafe { self.suspend(pages) } {
            log::warn!("pages {pages:?} are captured inside publish: {error}");
            return false;
        }
        if let Err(error) = gate.watch(self.addresses(pages)) {
            log::warn!("pages {pages:?} are captured inside publish: {error}");
            self.resume(pages.clone());
            return false;
        }
        self.deferred.add(pages.clone());
        true
    }

    /// Returns the deferred chunks of `pages` to the tracker. No capture may be running.
    pub(crate) fn return_to_tracker(&mut self, pages: &Range<usize>) {
        let runs = self.deferred.runs_in(pages);
        runs.into_iter().for_each(|run| self.return_run(run));
    }

    /// Returns deferred chunks to the tracker of which only a part is in `bound` by now. (Chunks
    /// wholly outside `bound` stay deferred, and are captured whole when they are bound again.) No
    /// capture may be running.
    pub(crate) fn return_parts(&mut self, bound: &PageSet) {
        for chunk in self.deferred.bound_in_part(bound) {
            self.return_to_tracker(&(chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES));
        }
    }

    /// Closes the gate, which does not hold stores back any more, and returns all chunks to the
    /// tracker.
    pub(crate) fn close_gate(&mut self) {
        self.return_to_tracker(&(0..self.span.pages));
        self.deferred.forget_gate();
    }

    fn return_run(&mut self, pages: Range<usize>) {
        if let Some(gate) = self.deferred.gate().filter(|gate| !gate.given_up())
            && let Err(error) = gate.unwatch(&self.addresses(&pages))
        {
            // The pages cannot be tracked again either, and are compared from now on.
            log::warn!("pages {pages:?} stay registered with the gate: {error}");
        }
        self.deferred.remove(pages.clone());
        self.resume(pages);
    }

    /// Suspends tracking of `pages`, whole chunks, so that the gate can watch them. The tracker
    /// reports nothing in them any more, and none is shared with a plane.
    ///
    /// # Safety
    /// Nobody writes during the call.
    #[allow(unsafe_code)]
    unsafe fn suspend(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        // SAFETY: the caller promises that nobody writes during the call.
        unsafe { self.own(pages)? };
        self.memory.tracker().suspend(pages)
    }

    /// Tracks the pages again, from now on. If that fails, they are compared in every version.
    pub(super) fn resume(&mut self, pages: Range<usize>) {
        if let Err(error) = self.memory.tracker().resume(&pages) {
            log::warn!("pages {pages:?} are compared in every version: {error}");
            self.memory.tracker().pin(pages.clone());
            self.untracked.insert_range(pages);
        }
    }
}
