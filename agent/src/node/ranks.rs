//! The ranks of a node, as far as the end of the job is concerned.

use super::bits::{CLOSED, LOST, RUNNING};
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
            RanksHere::Running => RUNNING,
            RanksHere::Lost(_) => RUNNING | LOST,
            RanksHere::Closed => CLOSED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(attached: usize, closed: &[u32], lost: &[u32]) -> RanksHere {
        RanksHere::of(GroupEnds {
            attached,
            closed: closed.to_vec(),
            lost: lost.to_vec(),
        })
    }

    #[test]
    fn node_with_a_dead_rank_says_so_and_keeps_the_job_from_being_over() {
        assert_eq!(of(0, &[], &[]).bits(), 0);
        assert_eq!(of(2, &[], &[]).bits(), RUNNING);
        assert_eq!(of(2, &[1], &[]).bits(), RUNNING);
        assert_eq!(of(2, &[0, 1], &[]).bits(), CLOSED);
        // The others may have ended as they should.
        for ends in [of(2, &[], &[1]), of(2, &[0], &[1]), of(2, &[], &[0, 1])] {
            assert_eq!(ends.bits(), RUNNING | LOST, "{ends:?}");
        }
    }
}
