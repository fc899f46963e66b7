//! Which chunks are calm: nothing was written in them lately that was not expected.

use std::time::{Duration, Instant};
use tcasm_core::pageset::{CHUNK_PAGES, ChunkSet, PageSet};

/// Versions after which chunks that were not disturbed any more count as calm.
const LATELY: u32 = 8;

/// What it takes for a chunk to come to rest: once for each, and while they do, one part in `SHARE` of the run.
const COST: Duration = Duration::from_micros(700);
const SHARE: u32 = 32;
const MOST_AT_ONCE: u32 = 4;

/// Chunks, by when they were last disturbed.
#[derive(Debug)]
pub(crate) struct Calm {
    lately: u32,
    age: u32,
    /// Disturbed in the last `age` versions, and in the `lately` ones before.
    young: ChunkSet,
    old: ChunkSet,
    /// Calm since, and not yet asked for.
    calm: ChunkSet,
    /// Time that may be taken for them, and until when it was reckoned.
    credit: Duration,
    /// Time that was taken beyond that.
    debt: Duration,
    reckoned: Instant,
    /// Whether as much as is wanted may be taken: for tests.
    hasty: bool,
}

impl Calm {
    /// Of a region of `pages` pages. Chunks are calm after one to two times `lately` versions, 8 unless set.
    pub(crate) fn new(pages: usize, lately: Option<u32>) -> Self {
        let set = || ChunkSet::new(pages.div_ceil(CHUNK_PAGES));
        Calm {
            lately: lately.unwrap_or(LATELY).max(1),
            age: 0,
            young: set(),
            old: set(),
            calm: set(),
            credit: Duration::ZERO,
            debt: Duration::ZERO,
            reckoned: Instant::now(),
            hasty: lately.is_some(),
        }
    }

    /// The program has written `pages`, which was not expected.
    pub(crate) fn disturb(&mut self, pages: &PageSet) {
        pages
            .chunks_in_use()
            .for_each(|(chunk, _)| self.again(chunk));
    }

    /// Ask for `chunk` again after a while.
    pub(crate) fn again(&mut self, chunk: usize) {
        self.young.insert(chunk);
        self.calm.remove_range(chunk..chunk + 1);
    }

    /// A version has gone by.
    pub(crate) fn pass(&mut self) {
        self.age += 1;
        if self.age < self.lately {
            return;
        }
        self.age = 0;
        let fresh = ChunkSet::new(self.young.capacity());
        let mut calm = std::mem::replace(&mut self.old, std::mem::replace(&mut self.young, fresh));
        calm.subtract(&self.old);
        self.calm.union(&calm);
    }

    /// How many chunks may come to rest now.
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

    /// So many chunks come to rest.
    pub(crate) fn spend(&mut self, chunks: usize) {
        self.credit = self.credit.saturating_sub(COST * chunks as u32);
    }

    /// Charges time that was taken for something else that sharing needs, however long it was.
    pub(crate) fn charge(&mut self, taken: Duration) {
        self.debt += taken.saturating_sub(self.credit);
        self.credit = self.credit.saturating_sub(taken);
    }

    /// A calm chunk, the first of them, which is not told again before it was disturbed.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let chunk = self.calm.iter().next()?;
        self.calm.remove_range(chunk..chunk + 1);
        Some(chunk)
    }

    /// Ask for all of them again after a while.
    pub(crate) fn put_off(&mut self) {
        self.young.union(&self.calm);
        self.calm.clear();
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
    fn a_chunk_is_calm_once_after_it_was_not_disturbed_for_a_while() {
        let mut calm = Calm::new(100 * CHUNK_PAGES, None);
        calm.disturb(&pages(&[3, 90]));
        let mut versions = 0;
        while calm.next() != Some(3) {
            calm.disturb(&pages(&[90]));
            calm.pass();
            versions += 1;
        }
        assert!((LATELY..=2 * LATELY).contains(&versions), "{versions}");
        assert_eq!(calm.next(), None);
        (0..3 * LATELY).for_each(|_| calm.pass());
        assert_eq!((calm.next(), calm.next()), (Some(90), None));
    }

    #[test]
    fn time_that_was_charged_is_earned_before_another_chunk_comes_to_rest() {
        let mut calm = Calm::new(100 * CHUNK_PAGES, None);
        let mut now = calm.reckoned + COST * SHARE;
        assert_eq!(calm.allowance(now), 1);
        calm.spend(1);
        calm.charge(30 * COST);
        let begun = now;
        while calm.allowance(now) == 0 {
            now += COST;
        }
        assert!(now - begun >= 31 * COST * SHARE, "{:?}", now - begun);
        assert!(now - begun <= 31 * COST * SHARE + 2 * COST * SHARE);
    }

    #[test]
    fn chunks_come_to_rest_at_a_small_share_of_the_time() {
        let mut calm = Calm::new(100 * CHUNK_PAGES, None);
        let (mut now, mut rested) = (calm.reckoned, 0);
        for _ in 0..1000 {
            now += Duration::from_millis(10);
            let most = calm.allowance(now);
            assert!(most <= MOST_AT_ONCE as usize);
            calm.spend(most);
            rested += most;
        }
        let share = COST * rested as u32 * SHARE;
        assert!(share <= Duration::from_secs(10) && share >= Duration::from_secs(9));
        assert!(calm.allowance(now + Duration::from_secs(3600)) <= MOST_AT_ONCE as usize);
    }

    #[test]
    fn a_calm_chunk_that_is_disturbed_before_it_was_asked_for_is_not_calm() {
        let mut calm = Calm::new(100 * CHUNK_PAGES, Some(1));
        calm.disturb(&pages(&[3, 4, 5]));
        (0..2).for_each(|_| calm.pass());
        calm.disturb(&pages(&[4]));
        assert_eq!(
            (calm.next(), calm.next(), calm.next()),
            (Some(3), Some(5), None)
        );
    }
}
