//! The chunks of live memory that become huge pages again. If a chunk is written again and again
//! after it has become cold, it is gathered more and more rarely.

use std::collections::BTreeMap;
use std::ops::Range;

/// The most times that a chunk is passed over between two attempts.
const MOST_PASSES: u32 = 1 << 16;

/// The chunks that are being gathered, and how often each was.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// The pages of chunks that are not tracked meanwhile.
    pub(super) begun: Vec<Range<usize>>,
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
    pub(super) fn is_due(&mut self, chunk: usize) -> bool {
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
