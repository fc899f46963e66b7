//! Guards of the invariants, which tests can switch off for one agent, to see that the check of an
//! invariant fails without its guard.
//!
//! Without the feature `sabotage` all guards are on, and no code of this module remains.

/// A step that guards an invariant of the agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Guard {
    /// G1: versions of offered steps stay pinned until the end of the round.
    KeepOffered,
    /// G2: nothing is agreed unless all ranks take part.
    AllPresent,
    /// G2: the agreed step stays pinned until a newer one is agreed.
    KeepAgreed,
    /// G3: an agent decides by the result of the round, not by what it has itself.
    ResultsOnly,
    /// G5: an agent pins at most so many steps, and lets go of the oldest candidate first.
    Window,
    /// G5: regions must have more versions than an agent may pin.
    LeaveSlots,
    /// G6: nothing is agreed unless all ranks are of one run.
    OneRun,
}

/// The guards of one agent. All are on at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Guards {
    #[cfg(any(test, feature = "sabotage"))]
    off: Option<Guard>,
}

impl Guards {
    /// Returns guards of which one is switched off.
    #[cfg(any(test, feature = "sabotage"))]
    pub fn without(guard: Guard) -> Guards {
        Guards { off: Some(guard) }
    }

    /// Returns true if `guard` is switched off.
    #[cfg(any(test, feature = "sabotage"))]
    pub(super) fn off(self, guard: Guard) -> bool {
        self.off == Some(guard)
    }

    /// Returns false: without the feature `sabotage` all guards are on.
    #[cfg(not(any(test, feature = "sabotage")))]
    #[inline(always)]
    pub(super) fn off(self, _guard: Guard) -> bool {
        false
    }
}
