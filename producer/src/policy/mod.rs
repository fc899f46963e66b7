//! The capture policy: which pages are expected to be written, which chunks are deferred, and which
//! chunks are cold.
//!
//! The policy learns from what was captured, and answers with sets of pages. It touches no memory:
//! `publish` applies the answers (`publish/apply.rs`).

mod assembly;
mod cold;

pub(crate) use assembly::Assembly;
pub(crate) use cold::ColdChunks;

use crate::dirty::Observed;
use std::collections::BTreeSet;
use std::ops::Range;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::policy::Prediction;
use tcasm_core::policy::{ChunkPolicy, Seen};

/// The most chunks that return to inline capture in one call of publish. Each of them is then
/// compared as a whole.
const BACK_AT_ONCE: usize = 8;

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
#[derive(Debug)]
pub(crate) struct CapturePolicy {
    prediction: Prediction,
    chunks: ChunkPolicy,
    mode: CaptureMode,
    /// The rule by which scattered chunks are assembled for observers after publish.
    pub(crate) assembly: Assembly,
    /// Chunks that are to return to inline capture, because it costs less for them.
    back: BTreeSet<usize>,
    /// The cold chunks that may be shared with planes, or gathered into huge pages. `None` if both
    /// are off.
    pub(crate) cold: Option<ColdChunks>,
}

impl CapturePolicy {
    /// Returns the policy of a region of `pages` pages, which has learnt nothing yet.
    pub(crate) fn new(
        pages: usize,
        mode: CaptureMode,
        assembly: Assembly,
        cold: Option<ColdChunks>,
    ) -> Self {
        CapturePolicy {
            prediction: Prediction::new(pages),
            chunks: ChunkPolicy::default(),
            mode,
            assembly,
            back: BTreeSet::new(),
            cold,
        }
    }

    /// Records that no capture can be deferred any more.
    pub(crate) fn capture_inline(&mut self) {
        self.mode = CaptureMode::Inline;
        self.back.clear();
    }

    /// Returns the pages that are expected to be written before the next publish.
    pub(crate) fn expected(&self) -> &PageSet {
        self.prediction.expected()
    }

    /// Returns the pages whose stores fault in each version, because they are too few to expect.
    pub(crate) fn recurring(&self) -> &PageSet {
        self.prediction.recurring()
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

    /// Records that `chunks` are assembled. They count as disturbed, because a chunk that is shared
    /// with a plane cannot be assembled.
    pub(crate) fn assembled(&mut self, chunks: impl Iterator<Item = usize>) {
        if let Some(cold) = &mut self.cold {
            chunks.for_each(|chunk| cold.again(chunk));
        }
    }

    /// Returns the pages of deferred chunks that cost less when they are captured inside publish: a
    /// few chunks at a time, neighbours together.
    pub(crate) fn choose_inline(&self) -> Vec<Range<usize>> {
        let chunks: Vec<usize> = self.back.iter().take(BACK_AT_ONCE).copied().collect();
        runs(&chunks)
    }

    /// Learns from a version that was captured inside publish. Returns the pages of inline chunks
    /// that cost less when their capture is deferred, neighbours together.
    pub(crate) fn choose_deferred(&mut self, observed: &Observed) -> Vec<Range<usize>> {
        self.prediction.learn(&observed.seen, &observed.changed);
        if self.mode == CaptureMode::Inline {
            return Vec::new();
        }
        let chunks: Vec<usize> = observed
            .changed
            .chunks_in_use()
            .map(|(chunk, _)| chunk)
            .filter(|chunk| self.wants_deferral(*chunk, observed))
            .filter(|chunk| observed.eligible.is_full(*chunk))
            .collect();
        runs(&chunks)
    }

    fn wants_deferral(&mut self, chunk: usize, observed: &Observed) -> bool {
        let count = |set: &PageSet| set.chunk(chunk).iter().map(|w| w.count_ones()).sum();
        let seen = Seen {
            changed: count(&observed.changed),
            faulted: count(&observed.faulted),
        };
        if seen.changed == 0 {
            return false;
        }
        self.chunks.seen_inline(chunk, seen) || self.mode == CaptureMode::Deferred
    }

    /// Records that the capture of `pages`, whole chunks, is deferred from now on.
    pub(crate) fn deferred(&mut self, pages: &Range<usize>) {
        self.prediction.forget(pages.clone());
        chunks_of(pages).for_each(|chunk| self.chunks.set_deferred(chunk));
    }

    /// Records that the chunks of `pages` are captured inside publish from now on.
    pub(crate) fn inline(&mut self, pages: &PageSet) {
        for (chunk, _) in pages.chunks_in_use() {
            self.back.remove(&chunk);
            self.chunks.set_inline(chunk);
        }
    }
}

fn chunks_of(pages: &Range<usize>) -> Range<usize> {
    pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES)
}

/// Returns the pages of `chunks`, which are in ascending order, with neighbours in one run.
fn runs(chunks: &[usize]) -> Vec<Range<usize>> {
    chunks
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| run[0] * CHUNK_PAGES..(run[run.len() - 1] + 1) * CHUNK_PAGES)
        .collect()
}
