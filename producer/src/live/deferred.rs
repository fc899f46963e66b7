//! The chunks whose capture is deferred: the gate watches them instead of the tracker.

use super::LiveMemory;
use std::ops::Range;
use std::sync::Arc;
use tcasm_core::capture::Gate;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};

/// The most separate runs of deferred chunks. Each takes mappings, which the kernel limits.
const RUNS: usize = 4096;

/// The chunks whose capture is deferred.
#[derive(Debug)]
pub(crate) struct DeferredChunks {
    /// `None` if no capture can be deferred.
    gate: Option<Arc<Gate>>,
    /// The pages of the chunks.
    pages: PageSet,
    /// The pages of chunks that were returned to the tracker since the last `take_returned`.
    returned: PageSet,
    /// The bound pages when it was last checked that no deferred chunk is bound in part.
    whole_of: PageSet,
}

impl DeferredChunks {
    pub(super) fn new(pages: usize, gate: Option<Arc<Gate>>) -> Self {
        let set = || PageSet::new(pages);
        DeferredChunks {
            gate,
            pages: set(),
            returned: set(),
            whole_of: set(),
        }
    }

    /// Returns the gate, or `None` if no capture can be deferred.
    pub(crate) fn gate(&self) -> Option<&Arc<Gate>> {
        self.gate.as_ref()
    }

    /// Returns how many chunks there are.
    pub(crate) fn len(&self) -> usize {
        self.pages.len() / CHUNK_PAGES
    }

    /// Returns true if some of `pages` lie in one of the chunks.
    pub(crate) fn has(&self, pages: &Range<usize>) -> bool {
        self.pages.intersects(whole_chunks(pages))
    }

    /// Returns the pages of the chunks that are in `bound`. [`LiveMemory::return_parts`] must have
    /// been called for `bound`.
    pub(crate) fn within(&self, bound: &PageSet) -> PageSet {
        let mut pages = self.pages.clone();
        pages.intersect(bound);
        debug_assert!(pages.chunk_numbers().iter().all(|c| pages.is_full(c)));
        pages
    }

    /// Returns the pages of chunks that were returned to the tracker since the last call. They may
    /// have been written since they were last captured.
    pub(crate) fn take_returned(&mut self) -> PageSet {
        let empty = PageSet::new(self.pages.capacity());
        std::mem::replace(&mut self.returned, empty)
    }
}

impl LiveMemory {
    /// Has the gate watch `pages`, whole chunks, from now on. Returns false if that is not
    /// possible.
    ///
    /// # Safety
    /// Nobody writes during the call, and nobody has written the pages since they were captured.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn defer(&mut self, pages: &Range<usize>) -> bool {
        let Some(gate) = self.deferred.gate.clone() else {
            return false;
        };
        if self.deferred.pages.runs().count() >= RUNS {
            return false;
        }
        // SAFETY: the caller promises that nobody writes during the call.
        if let Err(error) = unsafe { self.suspend(pages) } {
            tracing::warn!(%error, "pages {pages:?} are captured inside publish");
            return false;
        }
        if let Err(error) = gate.watch(self.addresses(pages)) {
            tracing::warn!(%error, "pages {pages:?} are captured inside publish");
            self.resume(pages.clone());
            return false;
        }
        self.deferred.pages.insert_range(pages.clone());
        self.deferred.pages.settle();
        true
    }

    /// Returns the deferred chunks of `pages` to the tracker. No capture may be running.
    pub(crate) fn return_to_tracker(&mut self, pages: &Range<usize>) {
        let met = whole_chunks(pages);
        let runs: Vec<_> = self
            .deferred
            .pages
            .runs()
            .map(|run| run.start.max(met.start)..run.end.min(met.end))
            .filter(|run| !run.is_empty())
            .collect();
        runs.into_iter().for_each(|run| self.return_run(run));
    }

    /// Returns deferred chunks to the tracker of which only a part is in `bound` by now. (Chunks
    /// wholly outside `bound` stay deferred, and are captured whole when they are bound again.) No
    /// capture may be running.
    pub(crate) fn return_parts(&mut self, bound: &PageSet) {
        if self.deferred.whole_of.is_clone_of(bound) {
            return;
        }
        let in_part = |chunk: &usize| {
            !bound.is_full(*chunk) && bound.chunk(*chunk).iter().any(|word| *word != 0)
        };
        let chunks = self.deferred.pages.chunk_numbers();
        for chunk in chunks.iter().filter(in_part) {
            self.return_to_tracker(&(chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES));
        }
        self.deferred.whole_of = bound.clone();
    }

    /// Closes the gate, which does not hold stores back any more, and returns all chunks to the
    /// tracker.
    pub(crate) fn close_gate(&mut self) {
        self.return_to_tracker(&(0..self.span.pages));
        self.deferred.gate = None;
    }

    fn return_run(&mut self, pages: Range<usize>) {
        if let Some(gate) = self.deferred.gate.as_ref().filter(|gate| !gate.given_up())
            && let Err(error) = gate.unwatch(&self.addresses(&pages))
        {
            // The pages cannot be tracked again either, and are compared from now on.
            tracing::warn!(%error, "pages {pages:?} stay registered with the gate");
        }
        self.deferred.pages.remove_range(pages.clone());
        self.deferred.returned.insert_range(pages.clone());
        self.resume(pages);
    }
}

/// Returns `pages` extended to whole chunks.
fn whole_chunks(pages: &Range<usize>) -> Range<usize> {
    pages.start / CHUNK_PAGES * CHUNK_PAGES..pages.end.next_multiple_of(CHUNK_PAGES)
}
