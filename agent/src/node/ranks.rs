//! The ranks of a node, as far as the end of the job is concerned.

use super::bits::{CLOSED, RUNNING};
use tcasm_observer::GroupEnds;

/// The state of the ranks of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RanksHere {
    /// There are none, or they have not come yet.
    None,
    /// They run.
    Running,
    /// Some have died. They may be started again.
    Lost(Vec<u32>),
    /// All have closed their regions.
    Closed,
}

impl RanksHere {
    /// Returns the state of ranks with these ends.
    pub(crate) fn of(ends: GroupEnds) -> RanksHere {
        match ends {
            ends if ends.attached == 0 => RanksHere::None,
            ends if ends.all_closed() => RanksHere::Closed,
            ends if !ends.lost.is_empty() => RanksHere::Lost(ends.lost),
            _ => RanksHere::Running,
        }
    }

    /// Returns the wishes by which the other nodes learn this.
    pub(super) fn bits(&self) -> u64 {
        match self {
            RanksHere::None => 0,
            RanksHere::Running | RanksHere::Lost(_) => RUNNING,
            RanksHere::Closed => CLOSED,
        }
    }
}
