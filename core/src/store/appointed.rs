//! The rule of appointed steps, and what is kept free for their versions (I13).

use crate::testing::sabotage::{Guard, off};
use std::num::NonZeroU64;

/// The appointed versions for which there is room.
pub const RESERVED_VERSIONS: usize = 2;

/// The rule of appointments, and what is kept free for them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reserve {
    /// Steps that are multiples of this are appointed.
    pub(super) every: Option<NonZeroU64>,
    /// The bytes of an appointed version in which everything has changed.
    pub(super) bytes: u64,
    /// The publish that is in progress, if any, is of an appointed step.
    pub(super) appointed: bool,
}

impl Reserve {
    /// Returns true if this step is appointed.
    pub(super) fn appoints(&self, step: u64) -> bool {
        let every = self.every;
        every.is_some_and(|every| step.is_multiple_of(every.get()))
    }

    /// Returns true if something is kept free now.
    pub(super) fn is_kept(&self) -> bool {
        self.every.is_some() && !self.appointed && !off(Guard::KeepReserve)
    }
}
