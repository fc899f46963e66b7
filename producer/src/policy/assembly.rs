//! The rule by which scattered chunks are assembled for observers (`tcasm_core::store`).

/// The fewest observers for which chunks are assembled. Fewer would save less than a version costs
/// that is skipped.
const FEWEST: usize = 4;
/// The number of versions without assembly after it was in the way of one.
const PAUSE: u32 = 64;

/// The versions whose scattered chunks the copiers assemble for observers. Such a version becomes
/// visible after `publish` has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assembly {
    /// Never, because versions are to be visible when `publish` returns.
    Never,
    /// If there are so many observers that it saves work. `pause` is the number of versions without
    /// assembly that are left.
    WhereWorthIt { pause: u32 },
    /// Wherever it is possible. For tests.
    Always,
}

impl Assembly {
    /// Returns the number of observers for which the next version is assembled, if `attached`
    /// observers are attached.
    pub(crate) fn observers(&mut self, attached: usize) -> usize {
        match self {
            Assembly::Never => 0,
            Assembly::WhereWorthIt { .. } if attached < FEWEST => 0,
            Assembly::WhereWorthIt { pause: 0 } => attached,
            Assembly::WhereWorthIt { pause } => {
                *pause -= 1;
                0
            }
            Assembly::Always => usize::MAX,
        }
    }

    /// Records that the program published again before the last version was assembled, so that this
    /// version waits or is skipped. Nothing is assembled for a while.
    pub(crate) fn was_in_the_way(&mut self) {
        if let Assembly::WhereWorthIt { pause } = self {
            *pause = PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_assembled_for_a_while_after_assembly_was_in_the_way() {
        let mut assembly = Assembly::WhereWorthIt { pause: 0 };
        assert_eq!(assembly.observers(7), 7);
        assembly.was_in_the_way();
        (0..PAUSE).for_each(|_| assert_eq!(assembly.observers(7), 0));
        assert_eq!(assembly.observers(7), 7);
    }

    #[test]
    fn nothing_is_assembled_for_few_observers() {
        let mut assembly = Assembly::WhereWorthIt { pause: 0 };
        assert_eq!(assembly.observers(FEWEST - 1), 0);
        assert_eq!(assembly.observers(FEWEST), FEWEST);
    }

    #[test]
    fn programs_that_need_versions_at_once_get_them_at_once() {
        let mut assembly = Assembly::Never;
        assembly.was_in_the_way();
        assert_eq!(assembly.observers(100), 0);
    }
}
