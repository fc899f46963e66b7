//! Which pages will be written in the next step: those that were in the last two.
//!
//! A page that is expected is not protected, so that writing it costs no fault; whether it was written is found out by
//! comparing its bytes with the last version. So the answer stays exact, a page that joins a pattern is noticed by its
//! fault at once, and one that leaves it costs [`PATIENCE`] comparisons and is protected again.

use crate::pageset::PageSet;

/// Versions in a row in which an expected page must not have changed to be no longer expected.
pub const PATIENCE: usize = 2;

/// What is expected, and what that was learnt from.
#[derive(Debug)]
pub struct Prediction {
    /// Pages expected to be written in the next step.
    expected: PageSet,
    /// Pages that the last version changed.
    last: PageSet,
    /// Expected pages that the last version did not change.
    missed: PageSet,
}

impl Prediction {
    /// Nothing is expected of `pages` pages.
    pub fn new(pages: usize) -> Self {
        let set = || PageSet::new(pages);
        Prediction {
            expected: set(),
            last: set(),
            missed: set(),
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
        self.expected.subtract(&gone);

        let mut again = self.last.clone();
        again.intersect(changed);
        self.expected.union(&again);
        self.last.subtract(seen);
        self.last.union(changed);
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

    proptest! {
        /// Page by page, a counter tells the same.
        #[test]
        fn behaves_as_counters_of_changes_and_misses(steps in prop::collection::vec(any::<(u16, u16)>(), 0..30)) {
            let mut p = Prediction::new(64);
            let (mut last, mut expected, mut missed) = ([false; 16], [false; 16], [0; 16]);
            for (seen, changed) in steps {
                let bits = |b: u16| (0..16).filter(|i| b >> i & 1 == 1).collect::<Vec<usize>>();
                p.learn(&set(&bits(seen)), &set(&bits(seen & changed)));
                for i in bits(seen) {
                    let hit = changed >> i & 1 == 1;
                    missed[i] = if hit || !expected[i] { 0 } else { missed[i] + 1 };
                    expected[i] = expected[i] && missed[i] < PATIENCE || hit && last[i];
                    last[i] = hit;
                }
                let model: Vec<usize> = (0..16).filter(|i| expected[*i]).collect();
                prop_assert_eq!(p.expected().iter().collect::<Vec<_>>(), model);
            }
        }
    }
}
