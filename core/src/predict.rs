//! Which pages will be written in the next step: those that were in the last two.
//!
//! A page that is expected is not protected, so that writing it costs no fault; whether it was written is found out by
//! comparing its bytes with the last version. So the answer stays exact, a page that joins a pattern is noticed by its
//! fault at once, and one that leaves it costs [`PATIENCE`] comparisons and is protected again.

use crate::pageset::PageSet;
use std::collections::BTreeMap;

/// Versions in a row in which an expected page must not have changed to be no longer expected.
pub const PATIENCE: usize = 2;

/// Fewer expected pages of a chunk are not worth a doubt.
const FEW: u32 = 8;
/// Versions for which nothing is expected of a chunk of which most expectations failed: at first, and at most, because it is
/// twice as many each time.
const REST: u64 = 4;
const MOST_REST: u64 = 256;

/// A chunk of which most expectations failed.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// Nothing is expected before this version.
    until: u64,
    /// How long the last rest was: less with every version in which most expectations came true.
    rest: u64,
}

/// What is expected, and what that was learnt from.
#[derive(Debug)]
pub struct Prediction {
    /// Pages expected to be written in the next step.
    expected: PageSet,
    /// Pages that the last version changed.
    last: PageSet,
    /// Expected pages that the last version did not change.
    missed: PageSet,
    /// Chunks that are not trusted, or were not until lately.
    doubts: BTreeMap<usize, Doubt>,
    /// Versions so far.
    age: u64,
}

impl Prediction {
    /// Nothing is expected of `pages` pages.
    pub fn new(pages: usize) -> Self {
        let set = || PageSet::new(pages);
        Prediction {
            expected: set(),
            last: set(),
            missed: set(),
            doubts: BTreeMap::new(),
            age: 0,
        }
    }

    /// The pages expected to be written.
    pub fn expected(&self) -> &PageSet {
        &self.expected
    }

    /// The next version has been captured: of the pages in `seen`, it changed those in `changed`. (Pages that are not captured
    /// this time, because their buffer is not bound, say nothing.)
    pub fn learn(&mut self, seen: &PageSet, changed: &PageSet) {
        let mut idle = self.expected.clone();
        idle.intersect(seen);
        idle.subtract(changed);
        let mut gone = idle.clone();
        gone.intersect(&self.missed);
        self.missed.subtract(seen);
        self.missed.union(&idle);
        self.age += 1;
        self.doubt(&idle, seen);
        self.expected.subtract(&gone);

        let mut again = self.last.clone();
        again.intersect(changed);
        self.drop_doubted(&mut again);
        self.expected.union(&again);
        self.last.subtract(seen);
        self.last.union(changed);
    }

    /// Pages that are drawn at random are expected and mostly do not change: each costs a comparison, and more than the fault that
    /// it saves now and then. `idle` are the pages of `seen` that were expected and did not change.
    fn doubt(&mut self, idle: &PageSet, seen: &PageSet) {
        let count =
            |set: &PageSet, chunk| set.chunk(chunk).iter().map(|w| w.count_ones()).sum::<u32>();
        let mut asked = self.expected.clone();
        asked.intersect(seen);
        let mut failed = PageSet::new(asked.capacity());
        for (chunk, bits) in asked.chunks_in_use() {
            let (asked, missed) = (count(&asked, chunk), count(idle, chunk));
            // None at all is another matter: a pattern that has stopped, or a version without a step, for which there is patience.
            if asked >= FEW && missed < asked && 2 * missed > asked {
                let doubt = self.doubts.entry(chunk).or_insert(Doubt {
                    until: 0,
                    rest: REST / 2,
                });
                doubt.rest = (2 * doubt.rest).min(MOST_REST);
                doubt.until = self.age + doubt.rest;
                *failed.chunk_mut(chunk) = *bits;
            } else if let Some(doubt) = self.doubts.get_mut(&chunk) {
                doubt.rest -= 1;
                if doubt.rest == 0 {
                    self.doubts.remove(&chunk);
                }
            }
        }
        self.expected.subtract(&failed);
        self.missed.subtract(&failed);
    }

    /// Take the pages of chunks that are not trusted out.
    fn drop_doubted(&self, pages: &mut PageSet) {
        for (chunk, _) in self
            .doubts
            .iter()
            .filter(|(_, doubt)| self.age < doubt.until)
        {
            if pages.chunk(*chunk).iter().any(|word| *word != 0) {
                *pages.chunk_mut(*chunk) = Default::default();
            }
        }
    }

    /// Expect nothing of `pages` any more: somebody else captures them.
    pub fn forget(&mut self, pages: std::ops::Range<usize>) {
        for set in [&mut self.expected, &mut self.last, &mut self.missed] {
            set.remove_range(pages.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(pages: &[usize]) -> PageSet {
        let mut set = PageSet::new(64);
        pages.iter().for_each(|p| set.insert(*p));
        set
    }

    fn all() -> PageSet {
        set(&(0..64).collect::<Vec<_>>())
    }

    #[test]
    fn a_page_is_expected_after_two_changes_in_a_row_and_dropped_after_two_misses() {
        let mut p = Prediction::new(64);
        p.learn(&all(), &set(&[3, 5]));
        assert!(p.expected().is_empty());
        p.learn(&all(), &set(&[3]));
        assert_eq!(*p.expected(), set(&[3]));
        p.learn(&all(), &set(&[]));
        assert_eq!(*p.expected(), set(&[3]));
        p.learn(&all(), &set(&[3]));
        p.learn(&all(), &set(&[]));
        assert_eq!(
            *p.expected(),
            set(&[3]),
            "a miss that was made good does not count"
        );
        p.learn(&all(), &set(&[]));
        assert!(p.expected().is_empty());
    }

    #[test]
    fn a_buffer_that_is_bound_every_other_time_is_predicted_all_the_same() {
        let (mut p, half) = (Prediction::new(64), set(&[40, 41]));
        for _ in 0..2 {
            p.learn(&half, &set(&[40]));
            p.learn(&set(&[1]), &set(&[1]));
        }
        assert_eq!(*p.expected(), set(&[1, 40]));
    }

    #[test]
    fn of_chunks_in_which_most_expectations_fail_nothing_is_expected_for_ever_longer() {
        let mut p = Prediction::new(64);
        let mut expecting = 0;
        for version in 0..400 {
            // A quarter of the pages, another one each time, and some of them again.
            let start = version * 7 % 64;
            let changed: Vec<usize> = (start..start + 16).map(|page| page % 64).collect();
            p.learn(&all(), &set(&changed));
            expecting += usize::from(!p.expected().is_empty());
        }
        assert!((3..60).contains(&expecting), "{expecting}");
        let same: Vec<usize> = (0..32).collect();
        (0..600).for_each(|_| p.learn(&all(), &set(&same)));
        assert_eq!(*p.expected(), set(&same), "and trusted again");
    }

    #[test]
    fn a_version_without_a_step_costs_a_stable_pattern_nothing() {
        let mut p = Prediction::new(64);
        let same: Vec<usize> = (0..32).collect();
        (0..3).for_each(|_| p.learn(&all(), &set(&same)));
        p.learn(&all(), &set(&[]));
        assert_eq!(*p.expected(), set(&same));
    }

    proptest! {
        /// Page by page, a counter tells the same: of pages too few to be doubted.
        #[test]
        fn behaves_as_counters_of_changes_and_misses(steps in prop::collection::vec(any::<(u8, u8)>(), 0..30)) {
            let mut p = Prediction::new(64);
            let (mut last, mut expected, mut missed) = ([false; 7], [false; 7], [0; 7]);
            for (seen, changed) in steps {
                let bits = |b: u8| (0..7).filter(|i| b >> i & 1 == 1).collect::<Vec<usize>>();
                p.learn(&set(&bits(seen)), &set(&bits(seen & changed)));
                for i in bits(seen) {
                    let hit = changed >> i & 1 == 1;
                    missed[i] = if hit || !expected[i] { 0 } else { missed[i] + 1 };
                    expected[i] = expected[i] && missed[i] < PATIENCE || hit && last[i];
                    last[i] = hit;
                }
                let model: Vec<usize> = (0..7).filter(|i| expected[*i]).collect();
                prop_assert_eq!(p.expected().iter().collect::<Vec<_>>(), model);
            }
        }
    }
}
