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
    /// Chunks behind the gate.
    later: BTreeSet<usize>,
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
            later: BTreeSet::new(),
            back: BTreeSet::new(),
        }
    }

    /// Chunks that are captured later, of those that are wholly in `bound`.
    pub(crate) fn later_in(&self, bound: &PageSet) -> Vec<usize> {
        let whole = |chunk: &&usize| is_full(bound, **chunk);
        self.later.iter().filter(whole).copied().collect()
    }

    /// How many chunks are captured later.
    pub(crate) fn later(&self) -> usize {
        self.later.len()
    }

    /// A capture has ended: how long stores waited, and how many pages of its chunks have changed.
    pub(crate) fn learn_later(&mut self, waited_ns: u64, changed: &[(usize, u32)]) {
        self.ways.waited(waited_ns, changed.len());
        for (chunk, changed) in changed {
            if self.ways.seen_later(*chunk, *changed) && self.mode == CaptureMode::Auto {
                self.back.insert(*chunk);
            }
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
        let in_part =
            |chunk: &usize| !is_full(bound, *chunk) && bound.chunk(*chunk).iter().any(|w| *w != 0);
        let chunks: Vec<usize> = self.later.iter().copied().filter(in_part).collect();
        for run in runs(&chunks) {
            self.leave(run, region, suspect);
        }
    }

    /// Whether a chunk with some of `pages` is captured later.
    pub(crate) fn has_later(&self, pages: &Range<usize>) -> bool {
        self.later.range(chunks_of(pages)).next().is_some()
    }

    /// Hand the chunks of `pages` back to the tracker. No capture may be going on.
    pub(crate) fn expel(
        &mut self,
        pages: &Range<usize>,
        region: &mut Region,
        suspect: &mut PageSet,
    ) {
        let chunks: Vec<usize> = self.later.range(chunks_of(pages)).copied().collect();
        for run in runs(&chunks) {
            self.leave(run, region, suspect);
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
        for chunk in chunks {
            self.later.remove(&chunk);
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
        self.unarmed.remove_range(pages);
        for chunk in chunks {
            self.later.insert(chunk);
            self.ways.set_later(chunk);
        }
    }

    fn runs(&self) -> usize {
        let chunks: Vec<usize> = self.later.iter().copied().collect();
        runs(&chunks).len()
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
