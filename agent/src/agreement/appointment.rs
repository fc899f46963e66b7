//! Appointments: steps that are named before any rank has reached them.
//!
//! The newest step that all have is agreed as long as no rank is ahead of another one by more than
//! the window, and as long as few versions are skipped. An appointment does not depend on either:
//! each agent keeps the named step alone until the slowest rank has it. That costs one version,
//! whatever the drift is.

use crate::regions::Span;
use std::num::NonZeroU64;

/// How close a local rank may come to an appointment before its agent lets go of all candidates, so
/// that the memory of the region is there for the appointed step.
pub(super) const CLEAR_BEFORE: u64 = 1;

/// The rule by which steps are appointed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// No step is appointed.
    #[default]
    Never,
    /// Multiples of this number are appointed, one at a time.
    Every(NonZeroU64),
    /// This step is appointed. If it is missed, none is.
    At(u64),
    /// A step is appointed when an agent wishes so ([`APPOINT`](super::APPOINT)).
    Wished,
}

impl Rule {
    /// Returns the next step to appoint, if any. The ranks have these newest steps, and may publish
    /// one more each before the last agent learns of the appointment. `wished` is true if an agent
    /// has asked for one.
    pub(super) fn next(self, newest: Span, wished: bool) -> Option<u64> {
        if newest.is_empty() {
            return None;
        }
        let after = newest.max.saturating_add(2);
        match self {
            Rule::Never => None,
            Rule::Every(n) => after.checked_next_multiple_of(n.get()),
            Rule::At(step) if after <= step => Some(step),
            Rule::At(_) => None,
            Rule::Wished => wished.then(|| after.saturating_add(newest.max - newest.min)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appointed_steps_are_ahead_of_every_rank() {
        let newest = Span { min: 7, max: 10 };
        let every = |n| Rule::Every(NonZeroU64::new(n).unwrap());
        assert_eq!(Rule::Never.next(newest, true), None);
        assert_eq!(Rule::Wished.next(newest, false), None);
        assert_eq!(Rule::Wished.next(newest, true), Some(15));
        assert_eq!(every(10).next(newest, false), Some(20));
        assert_eq!(every(6).next(newest, false), Some(12));
        assert_eq!(every(6).next(Span::EMPTY, false), None);
        assert_eq!(Rule::At(12).next(newest, false), Some(12));
        assert_eq!(Rule::At(11).next(newest, true), None);
        assert_eq!(every(1).next(newest, false), Some(12));
    }
}
