//! The chunks whose capture is deferred: the gate watches them instead of the tracker.

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

    /// Returns true if captures can be deferred, but system calls that write into a protected chunk
    /// fail.
    pub(crate) fn user_mode_only(&self) -> bool {
        self.gate.as_ref().is_some_and(|gate| gate.user_mode_only())
    }

    /// Returns how many chunks there are.
    pub(crate) fn len(&self) -> usize {
        self.pages.len() / CHUNK_PAGES
    }

    /// Returns true if some of `pages` lie in one of the chunks.
    pub(crate) fn has(&self, pages: &Range<usize>) -> bool {
        self.pages.intersects(whole_chunks(pages))
    }

    /// Returns the pages of the chunks that are in `bound`. `LiveMemory::return_parts` must have
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

    /// Returns true if the chunks lie in as many runs as are allowed.
    pub(super) fn is_full(&self) -> bool {
        self.pages.runs().count() >= RUNS
    }

    /// Returns the runs of pages that lie in the chunks of `pages`.
    pub(super) fn runs_in(&self, pages: &Range<usize>) -> Vec<Range<usize>> {
        let met = whole_chunks(pages);
        self.pages
            .runs()
            .map(|run| run.start.max(met.start)..run.end.min(met.end))
            .filter(|run| !run.is_empty())
            .collect()
    }

    /// Returns the chunks of which only a part is in `bound`. Returns none if `bound` is as it was
    /// at the last call.
    pub(super) fn bound_in_part(&mut self, bound: &PageSet) -> Vec<usize> {
        if self.whole_of.is_clone_of(bound) {
            return Vec::new();
        }
        self.whole_of = bound.clone();
        let in_part = |chunk: &usize| {
            !bound.is_full(*chunk) && bound.chunk(*chunk).iter().any(|word| *word != 0)
        };
        let chunks = self.pages.chunk_numbers();
        chunks.iter().filter(in_part).collect()
    }

    /// Adds `pages`, whole chunks.
    pub(super) fn add(&mut self, pages: Range<usize>) {
        self.pages.insert_range(pages);
        self.pages.settle();
    }

    /// Removes `pages`, whole chunks, which return to the tracker.
    pub(super) fn remove(&mut self, pages: Range<usize>) {
        self.pages.remove_range(pages.clone());
        self.returned.insert_range(pages);
    }

    /// Records that no capture can be deferred any more.
    pub(super) fn forget_gate(&mut self) {
        self.gate = None;
    }
}

/// Returns `pages` extended to whole chunks.
fn whole_chunks(pages: &Range<usize>) -> Range<usize> {
    pages.start / CHUNK_PAGES * CHUNK_PAGES..pages.end.next_multiple_of(CHUNK_PAGES)
}
