//! How each page is captured: what is expected to be written, and which chunks are captured later.

use crate::region::Region;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use tcasm_core::capture::Gate;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::predict::Prediction;
use tcasm_core::ways::{Seen, Ways};

/// Chunks that go back to being captured inside one call of publish, at most: each is compared there as a whole.
const BACK_AT_ONCE: usize = 8;
/// Separate runs of chunks that are captured later, at most: each takes mappings, which are limited.
const RUNS: usize = 4096;

/// When chunks are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureMode {
    /// Inside publish or later, whichever costs the simulation less: decided chunk by chunk.
    #[default]
    Auto,
    /// Inside publish.
    Now,
    /// Later wherever it can be: every chunk that is bound as a whole.
    Later,
}

/// What was learnt of the simulation's habits.
pub(crate) struct Adaptive {
    pub(crate) prediction: Prediction,
    /// Pages that were left unprotected at the last harvest: reported written or not, so they are compared.
    pub(crate) unarmed: PageSet,
    ways: Ways,
    mode: CaptureMode,
    pub(crate) gate: Option<Arc<Gate>>,
    /// The pages of chunks behind the gate.
    later: PageSet,
    /// The pages of chunks that were handed back to the tracker.
    left: PageSet,
    /// What was bound when no chunk behind the gate was bound in part.
    whole_of: PageSet,
    /// Chunks that had better be captured inside publish again.
    back: BTreeSet<usize>,
}

impl Adaptive {
    pub(crate) fn new(pages: usize, mode: CaptureMode, gate: Option<Arc<Gate>>) -> Self {
        Adaptive {
            prediction: Prediction::new(pages),
            unarmed: PageSet::new(pages),
            ways: Ways::default(),
            mode,
            gate,
            later: PageSet::new(pages),
            left: PageSet::new(pages),
            whole_of: PageSet::new(pages),
            back: BTreeSet::new(),
        }
    }

    /// The pages of chunks that are captured later, of those in `bound`, for which [`Adaptive::expel_parts`] was called.
    pub(crate) fn later_in(&self, bound: &PageSet) -> PageSet {
        let mut pages = self.later.clone();
        pages.intersect(bound);
        debug_assert!(pages.chunk_numbers().iter().all(|c| is_full(&pages, c)));
        pages
    }

    /// The pages of chunks that were handed back to the tracker since the last call.
    pub(crate) fn take_left(&mut self) -> PageSet {
        std::mem::replace(&mut self.left, PageSet::new(self.later.capacity()))
    }

    /// How many chunks are captured later.
    pub(crate) fn later(&self) -> usize {
        self.later.len() / CHUNK_PAGES
    }

    /// A capture has ended: how long stores waited, and how many pages of its chunks have changed.
    pub(crate) fn learn_later(&mut self, waited_ns: u64, changed: &[(usize, u32)]) {
        self.ways.waited(waited_ns, changed.len());
        let back = self.ways.seen_later(changed);
        if self.mode == CaptureMode::Auto {
            self.back.extend(back);
        }
    }

    /// Hand chunks back to the tracker that had better be captured inside publish: a few at a time, neighbours together.
    /// Their pages, which may have been written since, join `suspect`.
    pub(crate) fn go_back(&mut self, region: &mut Region, suspect: &mut PageSet) {
        let chunks: Vec<usize> = self.back.iter().take(BACK_AT_ONCE).copied().collect();
        for run in runs(&chunks) {
            self.leave(run, region, suspect);
        }
    }

    /// Hand chunks back to the tracker of which only a part is in `bound` by now. (Those wholly outside are captured as a
    /// whole when they are bound again.) No capture may be going on.
    pub(crate) fn expel_parts(
        &mut self,
        bound: &PageSet,
        region: &mut Region,
        suspect: &mut PageSet,
    ) {
        if self.whole_of.is_clone_of(bound) {
            return;
        }
        let in_part =
            |chunk: &usize| !is_full(bound, *chunk) && bound.chunk(*chunk).iter().any(|w| *w != 0);
        let chunks: Vec<usize> = self.later.chunk_numbers().iter().filter(in_part).collect();
        for run in runs(&chunks) {
            self.leave(run, region, suspect);
        }
        self.whole_of = bound.clone();
    }

    /// Whether a chunk with some of `pages` is captured later.
    pub(crate) fn has_later(&self, pages: &Range<usize>) -> bool {
        self.later.intersects(pages_of(&chunks_of(pages)))
    }

    /// Hand the chunks of `pages` back to the tracker. No capture may be going on.
    pub(crate) fn expel(
        &mut self,
        pages: &Range<usize>,
        region: &mut Region,
        suspect: &mut PageSet,
    ) {
        let met = pages_of(&chunks_of(pages));
        let runs: Vec<_> = self
            .later
            .runs()
            .map(|run| run.start.max(met.start)..run.end.min(met.end))
            .collect();
        for run in runs.into_iter().filter(|run| !run.is_empty()) {
            self.leave(chunks_of(&run), region, suspect);
        }
    }

    /// The gate holds nothing any more: everything goes back.
    pub(crate) fn close_gate(&mut self, region: &mut Region, suspect: &mut PageSet) {
        self.expel(&(0..region.span.pages), region, suspect);
        self.back.clear();
        self.gate = None;
    }

    fn leave(&mut self, chunks: Range<usize>, region: &mut Region, suspect: &mut PageSet) {
        let pages = pages_of(&chunks);
        if let Some(gate) = self.gate.as_ref().filter(|gate| !gate.given_up())
            && let Err(error) = gate.unwatch(&region.addresses(&pages))
        {
            // Then they cannot be tracked again either, and are compared from now on.
            tracing::warn!(%error, "chunks {chunks:?} stay registered with the gate");
        }
        suspect.insert_range(pages.clone());
        self.later.remove_range(pages.clone());
        self.left.insert_range(pages.clone());
        for chunk in chunks {
            self.back.remove(&chunk);
            self.ways.set_now(chunk);
        }
        region.resume(pages);
    }

    /// A version was captured inside publish: it changed `changed` of the pages `seen`, of which `faulted` faulted. Chunks that
    /// had better be captured later from now on go behind the gate. Nobody has written since the capture.
    pub(crate) fn learn(
        &mut self,
        seen: &PageSet,
        changed: &PageSet,
        faulted: &PageSet,
        eligible: &PageSet,
        region: &mut Region,
    ) {
        self.prediction.learn(seen, changed);
        if self.gate.is_none() || self.mode == CaptureMode::Now {
            return;
        }
        let candidates: Vec<usize> = changed
            .chunks_in_use()
            .map(|(chunk, _)| chunk)
            .filter(|chunk| self.wants_later(*chunk, changed, faulted) && is_full(eligible, *chunk))
            .collect();
        for run in runs(&candidates) {
            self.enter(run, region);
        }
    }

    fn wants_later(&mut self, chunk: usize, changed: &PageSet, faulted: &PageSet) -> bool {
        let count = |set: &PageSet| set.chunk(chunk).iter().map(|w| w.count_ones()).sum();
        let seen = Seen {
            changed: count(changed),
            faulted: count(faulted),
        };
        if seen.changed == 0 {
            return false;
        }
        self.ways.seen_now(chunk, seen) || self.mode == CaptureMode::Later
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
        self.later.insert_range(pages);
        self.later.settle();
        for chunk in chunks {
            self.ways.set_later(chunk);
        }
    }

    fn runs(&self) -> usize {
        self.later.runs().count()
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

/// Neighbouring chunks together.
fn runs(chunks: &[usize]) -> Vec<Range<usize>> {
    chunks
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| run[0]..run[run.len() - 1] + 1)
        .collect()
}
