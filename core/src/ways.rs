//! Which way each chunk is captured: inside `publish` (its changed pages only), or later (whole, behind the gate).
//!
//! Decided from what was counted, at the prices below. They were measured on one machine and matter as ratios only: what
//! decides is how many pages of the chunk change, how many of them fault, and how long early stores wait.

use std::collections::BTreeMap;

/// Nanoseconds to copy a page inside `publish`, while the simulation stands still.
const COPY: u64 = 400;
/// Nanoseconds of the fault of a page that is written for the first time after it was protected.
const FAULT: u64 = 850;
/// Nanoseconds that the copy of a whole chunk by another thread takes from the simulation: memory bandwidth.
const WHOLE: u64 = 60_000;
/// At most so many nanoseconds of waiting count against capturing a chunk later: a chunk that is written wholly is cheaper
/// later, however early the stores come.
const MOST_WAITING: u64 = 60_000;
/// One way must be so much cheaper than the other, in percent, to be worth a change.
const MARGIN: u64 = 125;
/// Versions in a row that must agree before a chunk goes over to being captured later, if that is much cheaper (half the price)
/// and if it is not: counts of pages drawn at random swing ...
const TO_LATER: u32 = 2;
const TO_LATER_NARROWLY: u32 = 8;
/// ... and back; then it stays for `REST` versions at least, and twice as long each time.
const TO_NOW: u32 = 4;
const REST: u32 = 8;
const MOST_REST: u32 = 1024;

/// What was counted of one chunk in one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Pages that changed.
    pub changed: u32,
    /// Pages that faulted when they were written.
    pub faulted: u32,
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Versions in a row that spoke for the other way.
    votes: u32,
    /// Versions for which it may not change over to later.
    rest: u32,
    /// How long the next rest is.
    penalty: u32,
}

/// What was counted of all chunks that were ever captured later, or speak for it.
#[derive(Debug, Default)]
pub struct Ways {
    chunks: BTreeMap<usize, Chunk>,
    /// Whether some of the chunks that are captured later spoke for the other way when they were last counted.
    wavering: bool,
    /// Nanoseconds that early stores wait per chunk: a running mean.
    waiting: u64,
}

impl Ways {
    /// Stores that waited `ns` nanoseconds in all, for `chunks` chunks captured later.
    pub fn waited(&mut self, ns: u64, chunks: usize) {
        if chunks != 0 {
            self.waiting = (self.waiting * 7 + ns / chunks as u64) / 8;
        }
    }

    /// Count a version of a chunk that is captured inside `publish`. True: it had better be captured later.
    pub fn seen_now(&mut self, chunk: usize, seen: Seen) -> bool {
        let now = u64::from(seen.changed) * COPY + u64::from(seen.faulted) * FAULT;
        let least = self.price_later() * MARGIN;
        let speaks = now * 100 > least;
        let enough = match now * 100 > 2 * least {
            true => TO_LATER,
            false => TO_LATER_NARROWLY,
        };
        let Some(c) = self.chunks.get_mut(&chunk) else {
            if speaks {
                self.chunks.insert(
                    chunk,
                    Chunk {
                        votes: 1,
                        rest: 0,
                        penalty: REST,
                    },
                );
            }
            return false;
        };
        c.rest = c.rest.saturating_sub(1);
        c.votes = if speaks && c.rest == 0 {
            c.votes + 1
        } else {
            0
        };
        c.votes >= enough
    }

    /// Count a version of chunks that were captured later, in ascending order, with how many pages of each have changed. Returns
    /// those that had better be captured inside `publish` again.
    pub fn seen_later(&mut self, seen: &[(usize, u32)]) -> Vec<usize> {
        let most = self.price_later() * 100 / MARGIN;
        let cheaper = |changed: u32| u64::from(changed) * COPY < most;
        let dear = !seen.iter().any(|(_, changed)| cheaper(*changed));
        if dear && !std::mem::replace(&mut self.wavering, !dear) {
            // Nothing speaks for the other way, and nothing did last time.
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
            c.votes = if cheaper(*changed) { c.votes + 1 } else { 0 };
            c.votes >= TO_NOW
        };
        seen.iter()
            .filter(|seen| speak(seen))
            .map(|(chunk, _)| *chunk)
            .collect()
    }

    /// The chunk is captured later from now on.
    pub fn set_later(&mut self, chunk: usize) {
        if let Some(c) = self.chunks.get_mut(&chunk) {
            c.votes = 0;
        }
    }

    /// The chunk is captured inside `publish` from now on, and for a while.
    pub fn set_now(&mut self, chunk: usize) {
        if let Some(c) = self.chunks.get_mut(&chunk) {
            (c.votes, c.rest) = (0, c.penalty);
            c.penalty = (c.penalty * 2).min(MOST_REST);
        }
    }

    fn price_later(&self) -> u64 {
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

    /// One chunk, and which way it goes.
    #[derive(Default)]
    struct Track {
        ways: Ways,
        later: bool,
        changes: usize,
    }

    impl Track {
        fn see(&mut self, seen: Seen, versions: usize) {
            for _ in 0..versions {
                let before = self.later;
                if self.later && !self.ways.seen_later(&[(0, seen.changed)]).is_empty() {
                    self.ways.set_now(0);
                    self.later = false;
                } else if !self.later && self.ways.seen_now(0, seen) {
                    self.ways.set_later(0);
                    self.later = true;
                }
                self.changes += usize::from(before != self.later);
            }
        }
    }

    fn sparse(changed: u32, faulted: u32) -> Seen {
        Seen { changed, faulted }
    }

    #[test]
    fn a_dense_chunk_is_captured_later_from_its_third_version_on() {
        let mut track = Track::default();
        track.see(DENSE, 1);
        assert!(!track.later);
        track.see(DENSE, 1);
        assert!(track.later);
    }

    #[test]
    fn a_dense_chunk_stays_later_however_early_the_stores_come() {
        let mut track = Track::default();
        track.see(DENSE, 2);
        for _ in 0..100 {
            track.ways.waited(5_000_000, 1);
            track.see(DENSE, 1);
        }
        assert!(track.later);
    }

    #[test]
    fn a_sparse_chunk_is_captured_at_once_unless_its_pages_fault() {
        let mut track = Track::default();
        track.see(sparse(100, 0), 20);
        assert!(!track.later);
        track.see(sparse(100, 100), TO_LATER_NARROWLY as usize);
        assert!(track.later);
    }

    #[test]
    fn a_chunk_that_falls_silent_goes_back_and_changes_over_ever_more_rarely() {
        let mut track = Track::default();
        for version in 0..2000 {
            let dense = version / 10 % 2 == 0;
            track.see(if dense { DENSE } else { Seen::default() }, 1);
        }
        assert!((4..60).contains(&track.changes), "{}", track.changes);
    }

    #[test]
    fn counts_that_swing_around_the_border_move_no_chunk() {
        let mut track = Track::default();
        for version in 0u32..2000 {
            // 40 to 71 of the pages, all of which fault: of those drawn at random, a tenth.
            let pages = 40 + version.wrapping_mul(2_654_435_761) % 32;
            track.see(sparse(pages, pages), 1);
        }
        assert!(track.changes <= 2, "{}", track.changes);
    }

    #[test]
    fn a_chunk_at_the_border_does_not_swing() {
        let mut track = Track::default();
        for version in 0..500 {
            track.see(sparse(150 + version % 30, 0), 1);
        }
        assert!(track.changes <= 1, "{}", track.changes);
    }
}
