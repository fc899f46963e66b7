//! The capture policy decides how each chunk is captured: inline (inside `publish`, its changed
//! pages only) or deferred (as a whole, behind the gate).
//!
//! The decision follows from what was counted, at the prices below. They were measured on one
//! machine, and only their ratios matter. What decides is how many pages of the chunk change, how
//! many of them fault, and how long early stores wait.

use crate::testing::ablation::{Mechanism, without};
use std::collections::BTreeMap;

/// Nanoseconds to copy a page inside `publish`, while the simulation waits.
const COPY: u64 = 400;
/// Nanoseconds of the fault at the first store to a page after it was protected.
const FAULT: u64 = 850;
/// Nanoseconds that the simulation loses when another thread copies a whole chunk, because the two
/// share memory bandwidth.
const WHOLE: u64 = 60_000;
/// The largest number of nanoseconds of waiting that counts against deferred capture. A chunk that
/// is written as a whole is always cheaper deferred, however early the stores come.
const MOST_WAITING: u64 = 60_000;
/// The price of the current way, in percent of the price of the other, from which on a change is
/// worth it.
const MARGIN: u64 = 125;
/// How many versions in a row must agree before a chunk becomes deferred.
const TO_DEFERRED: u32 = 2;
/// How many versions in a row must agree before a chunk becomes inline again. It then stays inline
/// for `PAUSE` versions at least, and for twice as many each time, up to `MOST_PAUSE`.
const TO_INLINE: u32 = 4;
const PAUSE: u32 = 8;
const MOST_PAUSE: u32 = 1024;
/// A chunk that would be cheaper inline only if fewer of its pages faulted than last time is tried
/// after this many pauses: its pages may be expected by now. It stays inline for `TRIAL` versions
/// at least, which is long enough to learn a pattern.
const PAUSES_TO_TRIAL: u32 = 4;
const TRIAL: u32 = 4;

/// The counts of one chunk in one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The number of pages that changed.
    pub changed: u32,
    /// The number of pages that faulted when they were written.
    pub faulted: u32,
}

impl Seen {
    /// Returns the nanoseconds that inline capture costs the simulation.
    fn inline_price(self) -> u64 {
        u64::from(self.changed) * COPY + u64::from(self.faulted) * FAULT
    }
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// The counts of the last version in which the chunk was captured inline.
    inline: Seen,
    /// How many versions in a row spoke for the other way.
    votes: u32,
    /// The number of deferred versions in a row that would have been cheaper inline if no page had
    /// faulted.
    waited: u32,
    /// For how many versions the chunk may not become deferred.
    pause: u32,
    /// The length of the next pause.
    penalty: u32,
}

impl Chunk {
    /// Returns what inline capture of `changed` changed pages would probably cost: as large a part
    /// of them would fault as in the last version that was captured inline.
    fn inline_price(&self, changed: u32) -> u64 {
        let of = u64::from(self.inline.changed.max(1));
        let faulted = u64::from(changed) * u64::from(self.inline.faulted) / of;
        let faulted = faulted as u32;
        Seen { changed, faulted }.inline_price()
    }

    /// Counts a deferred version in which `changed` pages changed. Returns true if the chunk should
    /// be captured inline, because that would cost less than `most`, or to see whether it would.
    fn seen_deferred(&mut self, changed: u32, most: u64) -> bool {
        let cheaper = self.inline_price(changed) < most;
        self.votes = if cheaper { self.votes + 1 } else { 0 };
        let may_be = u64::from(changed) * COPY < most;
        self.waited = if may_be { self.waited + 1 } else { 0 };
        self.votes >= TO_INLINE || self.is_due_for_trial()
    }

    fn is_due_for_trial(&self) -> bool {
        self.waited >= self.penalty * PAUSES_TO_TRIAL
    }
}

/// The counts of each chunk that was ever deferred, or for which deferred capture would be cheaper.
#[derive(Debug, Default)]
pub struct ChunkPolicy {
    chunks: BTreeMap<usize, Chunk>,
    /// True if some deferred chunk would have been cheaper inline when the deferred chunks were
    /// last counted.
    wavering: bool,
    /// Nanoseconds that early stores wait per deferred chunk, as a running mean.
    waiting: u64,
}

impl ChunkPolicy {
    /// Records that early stores waited `ns` nanoseconds in all, for `chunks` deferred chunks.
    pub fn waited(&mut self, ns: u64, chunks: usize) {
        if chunks != 0 && !without(Mechanism::Waiting) {
            self.waiting = (self.waiting * 7 + ns / chunks as u64) / 8;
        }
    }

    /// Counts a version of a chunk that was captured inline. Returns true if the chunk should be
    /// deferred.
    pub fn seen_inline(&mut self, chunk: usize, seen: Seen) -> bool {
        let speaks = seen.inline_price() * 100 > self.deferred_price() * MARGIN;
        let Some(c) = self.chunks.get_mut(&chunk) else {
            if speaks {
                self.chunks.insert(
                    chunk,
                    Chunk {
                        inline: seen,
                        votes: 1,
                        waited: 0,
                        pause: 0,
                        penalty: PAUSE,
                    },
                );
            }
            return false;
        };
        c.inline = seen;
        c.pause = c.pause.saturating_sub(1);
        c.votes = if speaks && c.pause == 0 {
            c.votes + 1
        } else {
            0
        };
        c.votes >= TO_DEFERRED
    }

    /// Counts a version of the deferred chunks: each with how many of its pages have changed, in
    /// ascending order. Returns the chunks that should be captured inline again.
    pub fn seen_deferred(&mut self, seen: &[(usize, u32)]) -> Vec<usize> {
        let most = self.deferred_price() * 100 / MARGIN;
        // No fault makes it cheaper.
        let cheap = |changed: u32| u64::from(changed) * COPY < most;
        let dear = !seen.iter().any(|(_, changed)| cheap(*changed));
        if dear && !std::mem::replace(&mut self.wavering, !dear) {
            // Inline capture is cheaper for no chunk, and it was for none last time.
            return Vec::new();
        }
        let Some((first, last)) = seen.first().zip(seen.last()) else {
            return Vec::new();
        };
        let mut known = self.chunks.range_mut(first.0..=last.0).peekable();
        let mut speak = |(chunk, changed): &&(usize, u32)| {
            while known.next_if(|(number, _)| *number < chunk).is_some() {}
            let Some((_, c)) = known.next_if(|(number, _)| *number == chunk) else {
                return true;
            };
            c.seen_deferred(*changed, most)
        };
        seen.iter()
            .filter(|seen| speak(seen))
            .map(|(chunk, _)| *chunk)
            .collect()
    }

    /// Records that the chunk is deferred from now on.
    pub fn set_deferred(&mut self, chunk: usize) {
        if let Some(c) = self.chunks.get_mut(&chunk) {
            c.votes = 0;
        }
    }

    /// Records that the chunk is captured inline from now on, and for a while.
    pub fn set_inline(&mut self, chunk: usize) {
        if let Some(c) = self.chunks.get_mut(&chunk) {
            let is_trial = c.votes < TO_INLINE;
            c.pause = if is_trial { TRIAL } else { c.penalty };
            (c.votes, c.waited) = (0, 0);
            if !without(Mechanism::Penalties) {
                c.penalty = (c.penalty * 2).min(MOST_PAUSE);
            }
        }
    }

    fn deferred_price(&self) -> u64 {
        WHOLE + self.waiting.min(MOST_WAITING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENSE: Seen = Seen {
        changed: 512,
        faulted: 0,
    };

    /// One chunk, and how it is captured.
    #[derive(Default)]
    struct Track {
        policy: ChunkPolicy,
        deferred: bool,
        changes: usize,
    }

    impl Track {
        fn see(&mut self, seen: Seen, versions: usize) {
            for _ in 0..versions {
                let before = self.deferred;
                if self.deferred && !self.policy.seen_deferred(&[(0, seen.changed)]).is_empty() {
                    self.policy.set_inline(0);
                    self.deferred = false;
                } else if !self.deferred && self.policy.seen_inline(0, seen) {
                    self.policy.set_deferred(0);
                    self.deferred = true;
                }
                self.changes += usize::from(before != self.deferred);
            }
        }
    }

    fn sparse(changed: u32, faulted: u32) -> Seen {
        Seen { changed, faulted }
    }

    #[test]
    fn a_dense_chunk_is_deferred_from_its_third_version_on() {
        let mut track = Track::default();
        track.see(DENSE, 1);
        assert!(!track.deferred);
        track.see(DENSE, 1);
        assert!(track.deferred);
    }

    #[test]
    fn a_dense_chunk_stays_deferred_however_early_the_stores_come() {
        let mut track = Track::default();
        track.see(DENSE, 2);
        for _ in 0..100 {
            track.policy.waited(5_000_000, 1);
            track.see(DENSE, 1);
        }
        assert!(track.deferred);
    }

    #[test]
    fn a_sparse_chunk_is_captured_inline_unless_its_pages_fault() {
        let mut track = Track::default();
        track.see(sparse(100, 0), 20);
        assert!(!track.deferred);
        track.see(sparse(100, 100), TO_DEFERRED as usize);
        assert!(track.deferred);
    }

    #[test]
    fn a_chunk_whose_pages_would_fault_again_stays_deferred() {
        let mut track = Track::default();
        track.see(sparse(110, 110), 100);
        assert!(track.deferred);
        assert_eq!(track.changes, 3, "one trial");
        // Fewer pages cost less inline, although all of them fault.
        track.see(sparse(30, 30), TO_INLINE as usize);
        assert!(!track.deferred);
    }

    #[test]
    fn a_chunk_that_alternates_is_moved_more_and_more_rarely() {
        let mut track = Track::default();
        for version in 0..2000 {
            let dense = version / 10 % 2 == 0;
            track.see(if dense { DENSE } else { Seen::default() }, 1);
        }
        assert!((4..60).contains(&track.changes), "{}", track.changes);
    }

    #[test]
    fn random_counts_around_the_border_move_no_chunk() {
        let mut track = Track::default();
        for version in 0u32..2000 {
            // 40 to 71 of the pages change, and all of them fault. This is what drawing a tenth of
            // the pages at random gives.
            let pages = 40 + version.wrapping_mul(2_654_435_761) % 32;
            track.see(sparse(pages, pages), 1);
        }
        assert!(track.changes <= 14, "{}", track.changes);
    }

    #[test]
    fn a_chunk_whose_pages_are_expected_when_it_is_tried_stays_inline() {
        let mut track = Track::default();
        track.see(sparse(512, 512), 4);
        assert!(track.deferred);
        let mut inline = 0;
        for _ in 0..400 {
            // The same pages change in every version. They fault in the first two that are captured
            // inline, and are expected then.
            inline = if track.deferred { 0 } else { inline + 1 };
            track.see(sparse(51, if inline <= 2 { 51 } else { 0 }), 1);
        }
        assert!(!track.deferred);
        assert_eq!(track.changes, 2);
    }

    #[test]
    fn a_chunk_at_the_border_is_not_moved_back_and_forth() {
        let mut track = Track::default();
        for version in 0..500 {
            track.see(sparse(150 + version % 30, 0), 1);
        }
        assert!(track.changes <= 1, "{}", track.changes);
    }

    #[cfg(feature = "ablation")]
    mod left_out {
        use super::*;
        use crate::testing::ablation::leave_out;

        #[test]
        fn pauses_stay_as_long_as_the_first() {
            let _left = leave_out(Mechanism::Penalties);
            let mut track = Track::default();
            for version in 0..2000 {
                let dense = version / 10 % 2 == 0;
                track.see(if dense { DENSE } else { Seen::default() }, 1);
            }
            assert!(track.changes > 150, "{}", track.changes);
        }

        #[test]
        fn early_stores_cost_nothing() {
            let price = || {
                let mut policy = ChunkPolicy::default();
                (0..100).for_each(|_| policy.waited(50_000, 1));
                policy.deferred_price()
            };
            assert!(price() > WHOLE);
            let _left = leave_out(Mechanism::Waiting);
            assert_eq!(price(), WHOLE);
        }
    }
}
