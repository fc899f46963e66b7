//! Steps that several ranks have.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The steps of the versions that a rank has, each with the number of its newest version.
pub(super) type Steps = BTreeMap<u64, u64>;

/// Returns the step of a rank's newest version, and the number of the version. If the rank has
/// returned to an earlier state, this is not its largest step.
pub(super) fn newest(steps: &Steps) -> Option<(u64, u64)> {
    let newest = steps.iter().max_by_key(|(_, number)| **number);
    newest.map(|(step, number)| (*step, *number))
}

/// Returns the steps that all ranks have, beginning with that which the first rank has published
/// last. Without ranks there is none.
pub(super) fn common(ranks: &[Steps]) -> Vec<u64> {
    let Some((first, others)) = ranks.split_first() else {
        return Vec::new();
    };
    let in_all = |step: &u64| others.iter().all(|steps| steps.contains_key(step));
    let mut common: Vec<u64> = first.keys().copied().filter(in_all).collect();
    common.sort_by_key(|step| Reverse(first[step]));
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the steps of versions that were published in this order.
    fn steps<const N: usize>(all: [u64; N]) -> Steps {
        all.into_iter().zip(1..).collect()
    }

    #[test]
    fn only_steps_of_all_ranks_are_common_newest_first() {
        let ranks = [steps([3, 4, 6, 7]), steps([4, 5, 6]), steps([1, 4, 6, 9])];
        assert_eq!(common(&ranks), [6, 4]);
        assert_eq!(common(&ranks[..1]), [7, 6, 4, 3]);
        assert_eq!(common(&[steps([1, 2]), steps([3])]), []);
        assert_eq!(common(&[steps([1, 2]), steps([])]), []);
        assert_eq!(common(&[]), []);
    }

    #[test]
    fn step_that_was_published_last_is_the_newest_even_if_it_is_smaller() {
        let back = [steps([4, 5, 6, 3]), steps([4, 5, 6, 3])];
        assert_eq!(common(&back), [3, 6, 5, 4]);
        assert_eq!(newest(&back[0]), Some((3, 4)));
        assert_eq!(newest(&steps([])), None);
    }
}
