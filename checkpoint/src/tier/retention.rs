//! Which checkpoints a tier keeps.

use super::contents::{self, Item};
use std::collections::{BTreeMap, BTreeSet};

/// What is kept of the checkpoints on a tier. Whatever it says, the newest stays, and so does what others need: the checkpoints
/// that an increment builds on. An increment whose base is missing counts for nothing: it is kept
/// besides the others as long as it is newer than the oldest that is counted, since its base may
/// still come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The newest so many.
    pub last: usize,
    /// Those whose step is a multiple of this.
    pub every: Option<u64>,
    /// Those of these steps.
    pub steps: BTreeSet<u64>,
}

impl Default for Retention {
    /// All.
    fn default() -> Self {
        Retention {
            last: usize::MAX,
            every: None,
            steps: BTreeSet::new(),
        }
    }
}

impl Retention {
    /// The newest `last`, which counts as 1 if it is 0.
    pub fn last(last: usize) -> Self {
        Retention {
            last: last.max(1),
            ..Retention::default()
        }
    }

    /// The steps of `items` that need not be kept, increments before what they build on: removed in this order, no
    /// checkpoint is ever without its base.
    pub fn dispensable(&self, items: &BTreeMap<u64, Item>) -> Vec<u64> {
        if self.last >= items.len() {
            return Vec::new();
        }
        let whole = contents::whole(items);
        let newest = || whole.iter().rev().take(self.last.max(1)).copied();
        let oldest = newest().last();
        let waits =
            |step: &u64| !whole.contains(step) && oldest.is_none_or(|oldest| *step > oldest);
        let waiting = items.keys().copied().filter(waits);
        let chosen = items.keys().copied().filter(|step| self.chooses(*step));
        let mut kept = BTreeSet::new();
        for step in newest().chain(waiting).chain(chosen) {
            keep(step, items, &mut kept);
        }
        let gone = items.keys().rev().filter(|step| !kept.contains(step));
        gone.copied().collect()
    }

    fn chooses(&self, step: u64) -> bool {
        let every = self.every.is_some_and(|n| step.is_multiple_of(n.max(1)));
        every || self.steps.contains(&step)
    }
}

/// The checkpoint of `step`, and all that it builds on.
fn keep(step: u64, items: &BTreeMap<u64, Item>, kept: &mut BTreeSet<u64>) {
    let mut next = Some(step);
    while let Some(step) = next
        && kept.insert(step)
    {
        let entry = items.get(&step).map(|item| &item.entry);
        next = entry.and_then(|entry| Some(contents::base(items, entry)?.step));
    }
}

#[cfg(test)]
mod tests {
    use super::super::contents::{Entry, Kind};
    use super::*;
    use proptest::prelude::*;

    fn items(kinds: &[(u64, Option<u64>)]) -> BTreeMap<u64, Item> {
        let item = |step: u64, base: Option<u64>| Item {
            entry: Entry {
                step,
                version: step,
                time: 0.0,
                kind: base.map_or(Kind::Full, |base| Kind::Increment { base }),
                file: String::new(),
                bytes: 0,
                id: String::new(),
                base_id: String::new(),
                seal: String::new(),
            },
            drained: false,
        };
        kinds.iter().map(|(s, b)| (*s, item(*s, *b))).collect()
    }

    #[test]
    fn the_last_the_regular_and_the_named_stay() {
        let all = items(&(1..=10).map(|n| (n * 10, None)).collect::<Vec<_>>());
        let keep = Retention {
            last: 2,
            every: Some(40),
            steps: [10].into(),
        };
        assert_eq!(keep.dispensable(&all), [70, 60, 50, 30, 20]);
        assert_eq!(Retention::default().dispensable(&all), [] as [u64; 0]);
        assert_eq!(Retention::last(0).dispensable(&all).len(), 9);
    }

    #[test]
    fn what_an_increment_builds_on_stays_as_long_as_it() {
        let all = items(&[
            (1, None),
            (2, Some(1)),
            (3, Some(2)),
            (4, None),
            (5, Some(4)),
        ]);
        assert_eq!(Retention::last(1).dispensable(&all), [3, 2, 1]);
        assert_eq!(Retention::last(3).dispensable(&all), [] as [u64; 0]);
    }

    #[test]
    fn increments_without_their_base_count_for_nothing_and_stay_as_long_as_it_may_come() {
        // What is left when increments were drained on a base that never came.
        let all = items(&[(1, None), (2, Some(1)), (4, Some(3)), (5, Some(4))]);
        assert_eq!(Retention::last(1).dispensable(&all), [] as [u64; 0]);
        assert_eq!(Retention::last(2).dispensable(&all), [] as [u64; 0]);
        // Older than what is kept, they go.
        let all = items(&[(1, None), (3, Some(2)), (4, None), (6, Some(5)), (7, None)]);
        assert_eq!(Retention::last(1).dispensable(&all), [6, 4, 3, 1]);
        assert_eq!(Retention::last(2).dispensable(&all), [3, 1]);
        // Nothing can be read, so nothing goes.
        let all = items(&[(2, Some(1)), (3, Some(2)), (4, Some(3))]);
        assert_eq!(Retention::last(1).dispensable(&all), [] as [u64; 0]);
    }

    #[test]
    fn a_base_of_the_same_step_that_is_another_state_is_none() {
        let mut all = items(&[(1, None), (2, None), (3, Some(2))]);
        let entry = |all: &mut BTreeMap<u64, Item>, step| all.remove(&step).unwrap().entry;
        for (step, id, base_id) in [(2, "new", ""), (3, "x", "old")] {
            let (id, base_id) = (id.to_owned(), base_id.to_owned());
            let entry = Entry {
                id,
                base_id,
                ..entry(&mut all, step)
            };
            all.insert(
                step,
                Item {
                    entry,
                    drained: false,
                },
            );
        }
        assert_eq!(Retention::last(2).dispensable(&all), [] as [u64; 0]);
        assert_eq!(Retention::last(1).dispensable(&all), [1]);
    }

    proptest! {
        #[test]
        fn as_many_stay_as_are_to_be_kept_whatever_bases_are_missing(
            kinds in prop::collection::vec((any::<bool>(), any::<bool>()), 1..30),
            last in 1usize..8,
        ) {
            let kinds: Vec<_> = kinds.iter().enumerate()
                .filter(|(_, (_, there))| *there)
                .map(|(i, (full, _))| (i as u64 + 1, (!full).then_some(i as u64))).collect();
            let mut all = items(&kinds);
            let before = contents::whole(&all);
            for step in Retention::last(last).dispensable(&all) {
                all.remove(&step);
            }
            let after = contents::whole(&all);
            prop_assert!(before.iter().rev().take(last).all(|step| after.contains(step)));
        }

        #[test]
        fn whatever_goes_no_checkpoint_is_left_without_its_base(
            bases in prop::collection::vec(any::<bool>(), 1..30), last in 0usize..8, every in 1u64..9,
        ) {
            let kinds: Vec<_> = bases.iter().enumerate()
                .map(|(i, full)| (i as u64, (i > 0 && !full).then(|| i as u64 - 1))).collect();
            let mut all = items(&kinds);
            let keep = Retention { last, every: Some(every), ..Retention::default() };
            for step in keep.dispensable(&all) {
                all.remove(&step);
                for item in all.values() {
                    if let Kind::Increment { base } = item.entry.kind {
                        prop_assert!(all.contains_key(&base), "{} is needed", base);
                    }
                }
            }
            prop_assert!(all.contains_key(&(kinds.len() as u64 - 1)), "the newest stays");
            prop_assert!(keep.dispensable(&all).is_empty());
        }
    }
}
