//! Which checkpoints are kept. All nodes decide the same, because they decide by what all know.

use std::collections::{BTreeMap, BTreeSet};

/// What a node knows of a committed checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The step that this node's file builds on.
    pub base: Option<u64>,
    /// All files are on the slow tier.
    pub drained: bool,
}

/// Returns the newest `count` of the steps that `counts` accepts, and all that they build on.
pub fn kept(
    steps: &BTreeMap<u64, Known>,
    count: usize,
    counts: impl Fn(&Known) -> bool,
) -> BTreeSet<u64> {
    let newest = steps.iter().rev().filter(|(_, known)| counts(known));
    let mut kept = BTreeSet::new();
    for (step, _) in newest.take(count.max(1)) {
        let base = |step: &u64| steps.get(step)?.base.filter(|base| base < step);
        kept.extend(std::iter::successors(Some(*step), base));
    }
    kept
}

/// Returns true if the newest of `since` commits that came after the last drained one is to be
/// copied to the slow tier: at least the `every`-th. Commits count whether or not they are kept.
pub fn is_due(since: usize, every: usize) -> bool {
    every > 0 && since >= every
}

/// Returns true if the files of the next commit, after `since` that were not drained, are full ones
/// because it is to be drained: then the slow tier has one file of each node, which ParaView can
/// read. If each is drained, increments make the copies small. If a copy has failed, the commits
/// that follow may be increments again.
pub fn is_full(since: usize, every: usize) -> bool {
    every > 1 && (since + 1).is_multiple_of(every)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_checkpoints_are_kept_with_all_that_they_build_on() {
        let known = |base, drained| Known { base, drained };
        let steps = BTreeMap::from([
            (10, known(None, true)),
            (20, known(Some(10), false)),
            (30, known(None, false)),
            (40, known(Some(30), false)),
            (50, known(Some(40), false)),
        ]);
        assert_eq!(kept(&steps, 1, |_| true), BTreeSet::from([30, 40, 50]));
        assert_eq!(kept(&steps, 4, |_| true), steps.keys().copied().collect());
        assert_eq!(kept(&steps, 3, |known| known.drained), BTreeSet::from([10]));
        assert!(is_due(4, 4) && is_due(5, 4) && !is_due(4, 5) && !is_due(4, 0));
    }

    #[test]
    fn files_that_will_be_drained_are_full_unless_each_is_drained() {
        assert!(is_full(3, 4) && !is_full(2, 4));
        assert!(!is_full(4, 4), "after a copy that failed");
        assert!(!is_full(0, 1) && !is_full(0, 0));
    }
}
