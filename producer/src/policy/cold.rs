//! Finds cold chunks: those in which nothing was written lately but expected pages.

use std::time::{Duration, Instant};
use tcasm_core::pageset::{CHUNK_PAGES, ChunkSet, PageSet};

/// A chunk that was not disturbed for one to two times this many versions counts as cold.
const LATELY: u32 = 8;

/// The time that sharing one chunk with a plane takes. All sharing together may take one part in
/// `SHARE` of the run time.
const COST: Duration = Duration::from_micros(700);
const SHARE: u32 = 32;
const MOST_AT_ONCE: u32 = 4;

/// The chunks of a region, by when they were last disturbed.
#[derive(Debug)]
pub(crate) struct ColdChunks {
    lately: u32,
    age: u32,
    /// The chunks that were disturbed in the last `age` versions.
    young: ChunkSet,
    /// The chunks that were disturbed in the `lately` versions before those.
    old: ChunkSet,
    /// The chunks that are cold and that `next` has not returned yet.
    cold: ChunkSet,
    /// The chunk behind the one that `next` returned last.
    after: usize,
    /// The time that may be spent on sharing.
    credit: Duration,
    /// The time that was spent beyond the credit.
    debt: Duration,
    /// The moment until which the credit is computed.
    reckoned: Instant,
    /// True if there is no limit on the time spent. For tests.
    hasty: bool,
}

impl ColdChunks {
    /// Returns the chunks of a region of `pages` pages. A chunk is cold after one to two times
    /// `lately` versions (8 if `None`).
    pub(crate) fn new(pages: usize, lately: Option<u32>) -> Self {
        let set = || ChunkSet::new(pages.div_ceil(CHUNK_PAGES));
        ColdChunks {
            lately: lately.unwrap_or(LATELY).max(1),
            age: 0,
            young: set(),
            old: set(),
            cold: set(),
            after: 0,
            credit: Duration::ZERO,
            debt: Duration::ZERO,
            reckoned: Instant::now(),
            hasty: lately.is_some(),
        }
    }

    /// Returns true if there is no limit on the time spent. For tests.
    pub(crate) fn is_hasty(&self) -> bool {
        self.hasty
    }

    /// Records that the program has written `pages`, which was not expected.
    pub(crate) fn disturb(&mut self, pages: &PageSet) {
        pages
            .chunks_in_use()
            .for_each(|(chunk, _)| self.again(chunk));
    }

    /// Counts `chunk` as disturbed just now, so that it is cold again only after a while.
    pub(crate) fn again(&mut self, chunk: usize) {
        self.young.insert(chunk);
        self.cold.remove_range(chunk..chunk + 1);
    }

    /// Records that a version was published.
    pub(crate) fn pass(&mut self) {
        self.age += 1;
        if self.age < self.lately {
            return;
        }
        self.age = 0;
        let fresh = ChunkSet::new(self.young.capacity());
        let mut cold = std::mem::replace(&mut self.old, std::mem::replace(&mut self.young, fresh));
        cold.subtract(&self.old);
        self.cold.union(&cold);
    }

    /// Returns how many chunks may be shared now.
    pub(crate) fn allowance(&mut self, now: Instant) -> usize {
        let passed = now.saturating_duration_since(self.reckoned);
        self.reckoned = now;
        let earned = passed / SHARE;
        let paid = earned.min(self.debt);
        self.debt -= paid;
        self.credit = (self.credit + earned - paid).min(COST * MOST_AT_ONCE);
        if self.hasty {
            self.credit = COST * MOST_AT_ONCE;
        }
        (self.credit.as_nanos() / COST.as_nanos()) as usize
    }

    /// Subtracts the time that sharing `chunks` chunks takes.
    pub(crate) fn spend(&mut self, chunks: usize) {
        self.credit = self.credit.saturating_sub(COST * chunks as u32);
    }

    /// Charges the time that something else took that sharing needs. It may be more than the
    /// credit.
    pub(crate) fn charge(&mut self, taken: Duration) {
        self.debt += taken.saturating_sub(self.credit);
        self.credit = self.credit.saturating_sub(taken);
    }

    /// Returns the next cold chunk, in the order of their numbers and from the beginning again, so
    /// that chunks that become cold again and again do not keep others from their turn. It is not
    /// returned again until it was disturbed and became cold once more.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let behind = self.cold.iter().find(|chunk| *chunk >= self.after);
        let chunk = behind.or_else(|| self.cold.iter().next())?;
        self.cold.remove_range(chunk..chunk + 1);
        self.after = chunk + 1;
        Some(chunk)
    }

    /// Counts all cold chunks as disturbed just now, so that they are cold again only after a
    /// while.
    pub(crate) fn put_off(&mut self) {
        self.young.union(&self.cold);
        self.cold.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(chunks: &[usize]) -> PageSet {
        let mut set = PageSet::new(100 * CHUNK_PAGES);
        chunks.iter().for_each(|c| set.insert(c * CHUNK_PAGES + 7));
        set
    }

    #[test]
    fn chunk_is_cold_once_after_it_was_not_disturbed_for_a_while() {
        let mut cold = ColdChunks::new(100 * CHUNK_PAGES, None);
        cold.disturb(&pages(&[3, 90]));
        let mut versions = 0;
        while cold.next() != Some(3) {
            cold.disturb(&pages(&[90]));
            cold.pass();
            versions += 1;
        }
        assert!((LATELY..=2 * LATELY).contains(&versions), "{versions}");
        assert_eq!(cold.next(), None);
        (0..3 * LATELY).for_each(|_| cold.pass());
        assert_eq!((cold.next(), cold.next()), (Some(90), None));
    }

    #[test]
    fn chunks_that_are_asked_again_do_not_keep_others_from_their_turn() {
        let mut cold = ColdChunks::new(100 * CHUNK_PAGES, Some(1));
        cold.disturb(&pages(&[3, 4, 50]));
        (0..2).for_each(|_| cold.pass());
        for _ in 0..6 {
            match cold.next() {
                Some(50) => return,
                chunk => chunk.into_iter().for_each(|chunk| cold.again(chunk)),
            }
            cold.pass();
        }
        panic!("chunk 50 has no turn");
    }

    #[test]
    fn charged_time_is_earned_before_another_chunk_is_shared() {
        let mut cold = ColdChunks::new(100 * CHUNK_PAGES, None);
        let mut now = cold.reckoned + COST * SHARE;
        assert_eq!(cold.allowance(now), 1);
        cold.spend(1);
        cold.charge(30 * COST);
        let begun = now;
        while cold.allowance(now) == 0 {
            now += COST;
        }
        assert!(now - begun >= 31 * COST * SHARE, "{:?}", now - begun);
        assert!(now - begun <= 31 * COST * SHARE + 2 * COST * SHARE);
    }

    #[test]
    fn sharing_takes_a_small_share_of_the_run_time() {
        let mut cold = ColdChunks::new(100 * CHUNK_PAGES, None);
        let (mut now, mut shared) = (cold.reckoned, 0);
        for _ in 0..1000 {
            now += Duration::from_millis(10);
            let most = cold.allowance(now);
            assert!(most <= MOST_AT_ONCE as usize);
            cold.spend(most);
            shared += most;
        }
        let share = COST * shared as u32 * SHARE;
        assert!(share <= Duration::from_secs(10) && share >= Duration::from_secs(9));
        assert!(cold.allowance(now + Duration::from_secs(3600)) <= MOST_AT_ONCE as usize);
    }

    #[test]
    fn disturbed_chunk_is_not_cold_any_more() {
        let mut cold = ColdChunks::new(100 * CHUNK_PAGES, Some(1));
        cold.disturb(&pages(&[3, 4, 5]));
        (0..2).for_each(|_| cold.pass());
        cold.disturb(&pages(&[4]));
        assert_eq!(
            (cold.next(), cold.next(), cold.next()),
            (Some(3), Some(5), None)
        );
    }
}
