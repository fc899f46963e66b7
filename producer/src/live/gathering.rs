//! Chunks of live memory that become huge pages again.
//!
//! The kernel gathers only pages that are not protected. So a chunk is not tracked from one publish
//! to the next, while the keeper gathers it, and is then compared with the newest version as a
//! whole. That takes time of a publish, so it happens to cold chunks only, which are hardly ever
//! written meanwhile. If a chunk is written again and again after it has become cold, it is
//! gathered more and more rarely.

use super::memory::LiveMemory;
use std::collections::BTreeMap;
use std::ops::Range;
use tcasm_core::pageset::CHUNK_PAGES;

/// The most times that a chunk is passed over between two attempts.
const MOST_PASSES: u32 = 1 << 16;

/// The chunks that are being gathered, and how often each was.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// The pages of chunks that are not tracked meanwhile.
    begun: Vec<Range<usize>>,
    attempts: BTreeMap<usize, Attempts>,
}

#[derive(Debug, Default)]
struct Attempts {
    /// How many times more the chunk is passed over.
    passes: u32,
    /// How many times it will be passed over after the next attempt.
    penalty: u32,
}

impl Gathering {
    /// Returns true if an attempt should be made for `chunk`, which has become cold once more.
    fn is_due(&mut self, chunk: usize) -> bool {
        let attempts = self.attempts.entry(chunk).or_default();
        if attempts.passes > 0 {
            attempts.passes -= 1;
            return false;
        }
        attempts.passes = attempts.penalty;
        attempts.penalty = (2 * attempts.penalty + 1).min(MOST_PASSES);
        true
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_is_gathered_more_and_more_rarely() {
        let mut gathering = Gathering::default();
        let due: Vec<u32> = (0..40).filter(|_| gathering.is_due(7)).collect();
        assert_eq!(due, [0, 1, 3, 7, 15, 31]);
        assert!(gathering.is_due(8), "another chunk");
    }
}
