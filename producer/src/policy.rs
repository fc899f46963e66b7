//! The capture policy: which pages are expected to be written, and which chunks are deferred.

use crate::region::Region;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use tcasm_core::capture::Gate;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::policy::{ChunkPolicy, Seen};
use tcasm_core::predict::Prediction;

/// The most chunks that return to inline capture in one call of publish. Each of them is then
/// compared as a whole.
const BACK_AT_ONCE: usize = 8;
/// The most separate runs of deferred chunks. Each takes mappings, which the kernel limits.
const RUNS: usize = 4096;

/// When chunks are captured: inside `publish`, or after it has returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureMode {
    /// Inside publish or after it, whichever costs the simulation less. This is decided for each
    /// chunk.
    #[default]
    Auto,
    /// Always inside publish.
    Inline,
    /// After publish wherever that is possible: for every chunk that is bound as a whole.
    Deferred,
}

/// The capture policy, with what it has learnt of the pages that the simulation writes.
pub(crate) struct CapturePolicy {
    pub(crate) prediction: Prediction,
    /// Pages that were left unprotected at the last harvest. The tracker reports them whether they
    /// were written or not, so they are compared.
    pub(crate) unarmed: PageSet,
    chunks: ChunkPolicy,
    mode: CaptureMode,
    pub(crate) gate: Option<Arc<Gate>>,
    /// The pages of the chunks whose capture is deferred.
    deferred: PageSet,
    /// The pages of chunks that were returned to the tracker since the last `take_left`.
    left: PageSet,
    /// The bound pages when it was last checked that no deferred chunk is bound in part.
    whole_of: PageSet,
    /// Chunks that are to return to inline capture, because it costs less for them.
    back: BTreeSet<usize>,
}

impl CapturePolicy {
    pub(crate) fn new(pages: usize, mode: CaptureMode, gate: Option<Arc<Gate>>) -> Self {
        CapturePolicy {
            prediction: Prediction::new(pages),
            unarmed: PageSet::new(pages),
            chunks: ChunkPolicy::default(),
            mode,
            gate,
            deferred: PageSet::new(pages),
            left: PageSet::new(pages),
            whole_of: PageSet::new(pages),
            back: BTreeSet::new(),
        }
    }

    /// Returns the pages of `bound` in deferred chunks. [`CapturePolicy::expel_parts`] must have
    /// been called for `bound`.
    pub(crate) fn deferred_in(&self, bound: &PageSet) -> PageSet {
        let mut pages = self.deferred.clone();
        pages.intersect(bound);
        debug_assert!(pages.chunk_numbers().iter().all(|c| is_full(&pages, c)));
        pages
    }

    /// Returns the pages of chunks that were returned to the tracker since the last call.
    pub(crate) fn take_left(&mut self) -> PageSet {
        std::mem::replace(&mut self.left, PageSet::new(self.deferred.capacity()))
    }

    /// Returns how many chunks are deferred.
    pub(crate) fn deferred(&self) -> usize {
        self.deferred.len() / CHUNK_PAGES
    }

    /// Learns from a deferred capture that has ended: how long stores waited, and how many pages of
    /// each of its chunks changed.
    pub(crate) fn learn_deferred(&mut self, waited_ns: u64, changed: &[(usize, u32)]) {
        self.chunks.waited(waited_ns, changed.len());
        let back = self.chunks.seen_deferred(changed);
        if self.mode == CaptureMode::Auto {
            self.back.extend(back);
        }
    }

    /// Returns chunks to the tracker that cost less when captured inline. Takes a few at a time,
    /// neighbours together. Their pages may have been written since, so they join `maybe_dirty`.
    pub(crate) fn go_back(&mut self, region: &mut Region, maybe_dirty: &mut PageSet) {
        let chunks: Vec<usize> = self.back.iter().take(BACK_AT_ONCE).copied().collect();
        for run in runs(&chunks) {
            self.leave(run, region, maybe_dirty);
        }
    }

    /// Returns deferred chunks to the tracker of which only a part is in `bound` by now. (Chunks
    /// wholly outside `bound` stay deferred, and are captured whole when they are bound again.) No
    /// capture may be running.
    pub(crate) fn expel_parts(
        &mut self,
        bound: &PageSet,
        region: &mut Region,
        maybe_dirty: &mut PageSet,
    ) {
        if self.whole_of.is_clone_of(bound) {
            return;
        }
        let in_part =
            |chunk: &usize| !is_full(bound, *chunk) && bound.chunk(*chunk).iter().any(|w| *w != 0);
        let chunks: Vec<usize> = self
            .deferred
            .chunk_numbers()
            .iter()
            .filter(in_part)
            .collect();
        for run in runs(&chunks) {
            self.leave(run, region, maybe_dirty);
        }
        self.whole_of = bound.clone();
    }

    /// Returns true if a chunk with some of `pages` is deferred.
    pub(crate) fn has_deferred(&self, pages: &Range<usize>) -> bool {
        self.deferred.intersects(pages_of(&chunks_of(pages)))
    }

    /// Returns the deferred chunks of `pages` to the tracker. No capture may be running.
    pub(crate) fn expel(
        &mut self,
        pages: &Range<usize>,
        region: &mut Region,
        maybe_dirty: &mut PageSet,
    ) {
        let met = pages_of(&chunks_of(pages));
        let runs: Vec<_> = self
            .deferred
            .runs()
            .map(|run| run.start.max(met.start)..run.end.min(met.end))
            .collect();
        for run in runs.into_iter().filter(|run| !run.is_empty()) {
            self.leave(chunks_of(&run), region, maybe_dirty);
        }
    }

    /// Closes the gate, which does not hold stores back any more, and returns all chunks to the
    /// tracker.
    pub(crate) fn close_gate(&mut self, region: &mut Region, maybe_dirty: &mut PageSet) {
        self.expel(&(0..region.span.pages), region, maybe_dirty);
        self.back.clear();
        self.gate = None;
    }

    fn leave(&mut self, chunks: Range<usize>, region: &mut Region, maybe_dirty: &mut PageSet) {
        let pages = pages_of(&chunks);
        if let Some(gate) = self.gate.as_ref().filter(|gate| !gate.given_up())
            && let Err(error) = gate.unwatch(&region.addresses(&pages))
        {
            // The pages cannot be tracked again either, and are compared from now on.
            tracing::warn!(%error, "chunks {chunks:?} stay registered with the gate");
        }
        maybe_dirty.insert_range(pages.clone());
        self.deferred.remove_range(pages.clone());
        self.left.insert_range(pages.clone());
        for chunk in chunks {
            self.back.remove(&chunk);
            self.chunks.set_inline(chunk);
        }
        region.resume(pages);
    }

    /// Learns from a version that was captured inside publish: of the pages `seen` it changed
    /// `changed`, and of these `faulted` faulted. Defers the chunks of `eligible` for which that
    /// costs less. Nobody may have written since the capture.
    pub(crate) fn learn(
        &mut self,
        seen: &PageSet,
        changed: &PageSet,
        faulted: &PageSet,
        eligible: &PageSet,
        region: &mut Region,
    ) {
        self.prediction.learn(seen, changed);
        if self.gate.is_none() || self.mode == CaptureMode::Inline {
            return;
        }
        let candidates: Vec<usize> = changed
            .chunks_in_use()
            .map(|(chunk, _)| chunk)
            .filter(|chunk| {
                self.wants_deferral(*chunk, changed, faulted) && is_full(eligible, *chunk)
            })
            .collect();
        for run in runs(&candidates) {
            self.enter(run, region);
        }
    }

    fn wants_deferral(&mut self, chunk: usize, changed: &PageSet, faulted: &PageSet) -> bool {
        let count = |set: &PageSet| set.chunk(chunk).iter().map(|w| w.count_ones()).sum();
        let seen = Seen {
            changed: count(changed),
            faulted: count(faulted),
        };
        if seen.changed == 0 {
            return false;
        }
        self.chunks.seen_inline(chunk, seen) || self.mode == CaptureMode::Deferred
    }

    fn enter(&mut self, chunks: Range<usize>, region: &mut Region) {
        let pages = pages_of(&chunks);
        let Some(gate) = self.gate.clone().filter(|_| self.runs() < RUNS) else {
            return;
        };
        if let Err(error) = region.suspend(&pages) {
            return tracing::warn!(%error, "chunks {chunks:?} are captured inside publish");
        }
        if let Err(error) = gate.watch(region.addresses(&pages)) {
            tracing::warn!(%error, "chunks {chunks:?} are captured inside publish");
            return region.resume(pages);
        }
        self.prediction.forget(pages.clone());
        self.unarmed.remove_range(pages.clone());
        self.deferred.insert_range(pages);
        self.deferred.settle();
        for chunk in chunks {
            self.chunks.set_deferred(chunk);
        }
    }

    fn runs(&self) -> usize {
        self.deferred.runs().count()
    }
}

fn chunks_of(pages: &Range<usize>) -> Range<usize> {
    pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES)
}

fn pages_of(chunks: &Range<usize>) -> Range<usize> {
    chunks.start * CHUNK_PAGES..chunks.end * CHUNK_PAGES
}

fn is_full(set: &PageSet, chunk: usize) -> bool {
    set.chunk(chunk).iter().all(|w| *w == !0)
}

/// Returns the runs of neighbouring chunks.
fn runs(chunks: &[usize]) -> Vec<Range<usize>> {
    chunks
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| run[0]..run[run.len() - 1] + 1)
        .collect()
}
