//! Retention: which checkpoints a tier keeps.

use super::contents::{self, Item};
use std::collections::{BTreeMap, BTreeSet};

/// The rules for which checkpoints a tier keeps. A checkpoint is kept if one of the rules names it.
/// The newest readable checkpoint is always kept, and so are all checkpoints that a kept increment
/// builds on.
///
/// An increment whose base is missing does not count. It is kept in addition while it is newer than
/// the oldest checkpoint that counts, since its base may still come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The number of newest checkpoints to keep.
    pub last: usize,
    /// Keeps the checkpoints whose step is a multiple of this number.
    pub every: Option<u64>,
    /// Keeps the checkpoints of these steps.
    pub steps: BTreeSet<u64>,
}

impl Default for Retention {
    /// Returns rules that keep all checkpoints.
    fn default() -> Self {
        Retention {
            last: usize::MAX,
            every: None,
            steps: BTreeSet::new(),
        }
    }
}

impl Retention {
    /// Returns rules that keep the newest `last` checkpoints. 0 counts as 1.
    pub fn last(last: usize) -> Self {
        Retention {
            last: last.max(1),
            ..Retention::default()
        }
    }

    /// Returns the steps of `items` that need not be kept. Increments come before their base. If
    /// checkpoints are removed in this order, none is ever left without its base.
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

    /// Returns true if `every` or `steps` names `step`.
    fn chooses(&self, step: u64) -> bool {
        let every = self.every.is_some_and(|n| step.is_multiple_of(n.max(1)));
        every || self.steps.contains(&step)
    }
}

/// Adds `step` to `kept`, and all steps that its checkpoint builds on.
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
                relative_error: None,
            },
            drained: false,
        };
        kinds.iter().map(|(s, b)| (*s, item(*s, *b))).collect()
    }

    #[test]
    fn newest_regular_and_named_checkpoints_are_kept() {
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
    fn bases_are_kept_as_long_as_their_increments() {
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
    fn increments_without_base_do_not_count_and_are_kept_while_it_may_come() {
        // Such increments remain when they were drained without their base.
        let all = items(&[(1, None), (2, Some(1)), (4, Some(3)), (5, Some(4))]);
        assert_eq!(Retention::last(1).dispensable(&all), [] as [u64; 0]);
        assert_eq!(Retention::last(2).dispensable(&all), [] as [u64; 0]);
        // They are removed when they are older than all that is kept.
        let all = items(&[(1, None), (3, Some(2)), (4, None), (6, Some(5)), (7, None)]);
        assert_eq!(Retention::last(1).dispensable(&all), [6, 4, 3, 1]);
        assert_eq!(Retention::last(2).dispensable(&all), [3, 1]);
        // No checkpoint can be read, so none is removed.
        let all = items(&[(2, Some(1)), (3, Some(2)), (4, Some(3))]);
        assert_eq!(Retention::last(1).dispensable(&all), [] as [u64; 0]);
    }

    #[test]
    fn checkpoint_of_the_same_step_but_another_state_is_no_base() {
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
        fn requested_number_of_readable_checkpoints_is_kept_if_bases_are_missing(
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
        fn removal_leaves_no_checkpoint_without_its_base(
            bases in prop::collection::vec(any::<bool>(), 1..30),
            last in 0usize..8,
            every in 1u64..9,
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
