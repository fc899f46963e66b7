//! Finds out whether live memory may be locked for DMA, so that it must not move.

use std::time::{Duration, Instant};
use tcasm_core::sys::dma;

/// How long an answer is used again within one publish. It is no longer than moving a few chunks
/// takes.
const FRESH: Duration = Duration::from_millis(10);

/// Finds out whether live memory may be locked for DMA, so that it must not move.
///
/// With many open files the check takes long, so checks that follow each other closely share one
/// answer. No answer outlives the publish: a program may open a device and register the memory
/// right after it.
#[derive(Debug, Default)]
pub(crate) struct DmaCheck {
    answer: Option<(Instant, Option<String>)>,
    taken: Duration,
}

impl DmaCheck {
    /// Forgets the answer. Called at the start of a publish, because the program has run since.
    pub(crate) fn forget(&mut self) {
        self.answer = None;
    }

    /// Returns why some memory may be locked for DMA, or `None` if no memory is.
    pub(crate) fn reason(&mut self) -> Option<String> {
        if let Some((at, reason)) = &self.answer
            && at.elapsed() < FRESH
        {
            return reason.clone();
        }
        let start = Instant::now();
        let reason = dma::locked_reason();
        self.taken += start.elapsed();
        self.answer = Some((start, reason.clone()));
        reason
    }

    /// Returns how long the checks took since the last call.
    pub(crate) fn take_time(&mut self) -> Duration {
        std::mem::take(&mut self.taken)
    }
}
