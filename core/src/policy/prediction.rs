//! Predicts which pages will be written in the next step: those that were written in the last two.
//!
//! An expected page is not protected, so writing it costs no fault. Its bytes are compared with the
//! last version instead, so what counts as changed stays exact. A page that joins a pattern is
//! noticed by its fault at once. A page that leaves it costs two comparisons, and is then
//! protected again.
//!
//! Expecting a few pages of a chunk costs more than their faults, because the tracker scans such a
//! chunk by itself, and twice. So a pattern begins with several pages of a chunk.

use crate::pageset::PageSet;
use crate::testing::ablation::{Mechanism, without};
use std::collections::BTreeMap;

/// Nothing is expected of a chunk before this many of its pages changed in the last two versions.
/// (A fault takes 0.8 us, the two scans of a chunk about 10 us.) A chunk of which fewer pages are
/// still expected is trusted.
const FEW: u32 = 8;
/// For how many versions nothing is expected of a chunk in which most expectations failed. It is
/// twice as many each time, up to `MOST_PAUSE`.
const PAUSE: u64 = 4;
const MOST_PAUSE: u64 = 256;

/// The state of a chunk in which most expectations failed.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// The version before which nothing is expected.
    until: u64,
    /// The length of the last pause. It becomes less with every version in which most expectations
    /// came true.
    pause: u64,
}

/// The expected pages, and what they were learnt from.
#[derive(Debug)]
pub struct Prediction {
    /// The pages that are expected to be written in the next step.
    expected: PageSet,
    /// The pages that the last version changed.
    last: PageSet,
    /// The expected pages that the last version did not change.
    missed: PageSet,
    /// The pages that changed in the last two versions and are not expected, because they are too
    /// few in their chunk.
    few: PageSet,
    /// The chunks that are not trusted, or were not until lately.
    doubts: BTreeMap<usize, Doubt>,
    /// The number of versions so far.
    age: u64,
}

impl Prediction {
    /// Creates a prediction for `pages` pages that expects none of them.
    pub fn new(pages: usize) -> Self {
        let set = || PageSet::new(pages);
        Prediction {
            expected: set(),
            last: set(),
            missed: set(),
            few: set(),
            doubts: BTreeMap::new(),
            age: 0,
        }
    }

    /// Returns the pages that are expected to be written.
    pub fn expected(&self) -> &PageSet {
        &self.expected
    }

    /// Returns the pages that are written again and again, and are not expected because they are
    /// few in their chunk. Their faults tell nothing new.
    pub fn recurring(&self) -> &PageSet {
        &self.few
    }

    /// Learns from a version: of the pages in `seen`, it changed those in `changed`. Pages that are
    /// not in `seen` were not captured, because their buffer is not bound, so nothing is learnt of
    /// them.
    pub fn learn(&mut self, seen: &PageSet, changed: &PageSet) {
        if without(Mechanism::Prediction) {
            return;
        }
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
        self.few.subtract(seen);
        self.few.union(&self.take_few(&mut again));
        self.expected.union(&again);
        self.last.subtract(seen);
        self.last.union(changed);
    }

    /// Stops expecting pages of chunks in which most expectations fail. Pages that are written at
    /// random become expected and then mostly do not change. Each costs a comparison, which is more
    /// than the fault that it saves now and then. `idle` are the pages of `seen` that were expected
    /// and did not change.
    fn doubt(&mut self, idle: &PageSet, seen: &PageSet) {
        if without(Mechanism::Doubts) {
            return;
        }
        let mut asked = self.expected.clone();
        asked.intersect(seen);
        let mut failed = PageSet::new(asked.capacity());
        for (chunk, bits) in asked.chunks_in_use() {
            let (asked, missed) = (count(&asked, chunk), count(idle, chunk));
            // A chunk in which no expected page changed is another matter: its pattern has stopped,
            // or the version had no step. The rule of two misses deals with that.
            if asked >= FEW && missed < asked && 2 * missed > asked {
                let doubt = self.doubts.entry(chunk).or_insert(Doubt {
                    until: 0,
                    pause: PAUSE / 2,
                });
                doubt.pause = (2 * doubt.pause).min(MOST_PAUSE);
                doubt.until = self.age + doubt.pause;
                *failed.chunk_mut(chunk) = *bits;
            } else if let Some(doubt) = self.doubts.get_mut(&chunk) {
                doubt.pause -= 1;
                if doubt.pause == 0 {
                    self.doubts.remove(&chunk);
                }
            }
        }
        self.expected.subtract(&failed);
        self.missed.subtract(&failed);
    }

    /// Removes the pages of chunks in which few pages would be expected with them. Returns them.
    fn take_few(&self, pages: &mut PageSet) -> PageSet {
        let mut all = self.expected.clone();
        all.union(pages);
        let mut few = PageSet::new(pages.capacity());
        for (chunk, bits) in pages.chunks_in_use() {
            if count(&all, chunk) < FEW {
                *few.chunk_mut(chunk) = *bits;
            }
        }
        pages.subtract(&few);
        few
    }

    /// Removes the pages of chunks that are not trusted.
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

    /// Expects nothing of `pages` any more, because they are captured in another way.
    pub fn forget(&mut self, pages: std::ops::Range<usize>) {
        for set in [
            &mut self.expected,
            &mut self.last,
            &mut self.missed,
            &mut self.few,
        ] {
            set.remove_range(pages.clone());
        }
    }
}

/// Returns how many pages of `chunk` are in `set`.
fn count(set: &PageSet, chunk: usize) -> u32 {
    set.chunk(chunk).iter().map(|word| word.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pageset::CHUNK_PAGES;
    use proptest::prelude::*;

    /// After this many versions in a row in which an expected page did not change, it is no longer
    /// expected.
    const PATIENCE: usize = 2;

    /// Pages that change together: as many as it takes to expect them.
    const GROUP: usize = FEW as usize;
    /// The number of groups in a chunk.
    const GROUPS: usize = CHUNK_PAGES / GROUP;

    fn set(groups: &[usize]) -> PageSet {
        let mut set = PageSet::new(7 * CHUNK_PAGES);
        for group in groups {
            set.insert_range(group * GROUP..(group + 1) * GROUP);
        }
        set
    }

    fn all() -> PageSet {
        set(&(0..GROUPS).collect::<Vec<_>>())
    }

    #[test]
    fn a_page_is_expected_after_two_changes_in_a_row_and_dropped_after_two_misses() {
        let mut p = Prediction::new(7 * CHUNK_PAGES);
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
            "a miss before a change does not count"
        );
        p.learn(&all(), &set(&[]));
        assert!(p.expected().is_empty());
    }

    #[test]
    fn fewer_pages_of_a_chunk_than_pay_for_its_scans_are_not_expected() {
        let mut p = Prediction::new(7 * CHUNK_PAGES);
        let mut few = set(&[3, GROUPS]);
        few.remove_range(3 * GROUP..3 * GROUP + 1);
        (0..4).for_each(|_| p.learn(&few, &few));
        assert_eq!(
            *p.expected(),
            set(&[GROUPS]),
            "seven pages in the first chunk"
        );
        let recurring = p.recurring();
        assert!(
            recurring.iter().eq(3 * GROUP + 1..4 * GROUP),
            "{recurring:?}"
        );
        let mut more = few.clone();
        more.insert(77);
        p.learn(&more, &more);
        assert_eq!(*p.expected(), set(&[GROUPS]), "page 77 changed once");
        p.learn(&more, &more);
        assert_eq!(*p.expected(), more);
        assert!(p.recurring().is_empty());
    }

    #[test]
    fn a_buffer_that_is_bound_every_other_version_is_predicted() {
        let (mut p, half) = (Prediction::new(7 * CHUNK_PAGES), set(&[40, 41]));
        for _ in 0..2 {
            p.learn(&half, &set(&[40]));
            p.learn(&set(&[1]), &set(&[1]));
        }
        assert_eq!(*p.expected(), set(&[1, 40]));
    }

    /// Changes a quarter of the pages in each of 400 versions: other ones each time, some of them
    /// again. Returns how often something was expected of the next version.
    fn versions_that_expect(p: &mut Prediction) -> usize {
        let mut expecting = 0;
        for version in 0..400 {
            let start = version * 7 % GROUPS;
            let changed: Vec<usize> = (start..start + 16).map(|group| group % GROUPS).collect();
            p.learn(&all(), &set(&changed));
            expecting += usize::from(!p.expected().is_empty());
        }
        expecting
    }

    #[test]
    fn pauses_grow_for_chunks_in_which_most_expectations_fail() {
        let mut p = Prediction::new(7 * CHUNK_PAGES);
        let expecting = versions_that_expect(&mut p);
        assert!((3..60).contains(&expecting), "{expecting}");
        let same: Vec<usize> = (0..32).collect();
        (0..600).for_each(|_| p.learn(&all(), &set(&same)));
        assert_eq!(*p.expected(), set(&same), "the chunk is trusted again");
    }

    #[test]
    fn a_version_without_changes_keeps_a_stable_pattern() {
        let mut p = Prediction::new(7 * CHUNK_PAGES);
        let same: Vec<usize> = (0..32).collect();
        (0..3).for_each(|_| p.learn(&all(), &set(&same)));
        p.learn(&all(), &set(&[]));
        assert_eq!(*p.expected(), set(&same));
    }

    #[cfg(feature = "ablation")]
    #[test]
    fn without_doubts_every_chunk_is_trusted_and_without_prediction_nothing_is_expected() {
        let expecting = || versions_that_expect(&mut Prediction::new(7 * CHUNK_PAGES));
        let doubted = expecting();
        let left = crate::testing::ablation::leave_out(Mechanism::Doubts);
        let trusted = expecting();
        assert!(trusted > 300 && trusted > doubted, "{trusted}, {doubted}");
        drop(left);
        let _left = crate::testing::ablation::leave_out(Mechanism::Prediction);
        assert_eq!(expecting(), 0);
    }

    proptest! {
        /// Compares with a model that has counters for each group. Each is in a chunk of its own,
        /// which is never doubted: all of its pages change, or none.
        #[test]
        fn behaves_like_counters_of_changes_and_misses(
            steps in prop::collection::vec(any::<(u8, u8)>(), 0..30),
        ) {
            let mut p = Prediction::new(7 * CHUNK_PAGES);
            let (mut last, mut expected, mut missed) = ([false; 7], [false; 7], [0; 7]);
            for (seen, changed) in steps {
                let group = |i| i * GROUPS;
                let ones = |b: u8| (0..7).filter(move |i| b >> i & 1 == 1);
                let bits = |b: u8| ones(b).map(group).collect::<Vec<usize>>();
                p.learn(&set(&bits(seen)), &set(&bits(seen & changed)));
                for i in ones(seen) {
                    let hit = changed >> i & 1 == 1;
                    missed[i] = if hit || !expected[i] { 0 } else { missed[i] + 1 };
                    expected[i] = expected[i] && missed[i] < PATIENCE || hit && last[i];
                    last[i] = hit;
                }
                let model = (0..7).filter(|i| expected[*i]).map(group);
                prop_assert_eq!(p.expected(), &set(&model.collect::<Vec<_>>()));
            }
        }
    }
}
