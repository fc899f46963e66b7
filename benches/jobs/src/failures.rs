//! Deaths of processes and nodes, and the steps that they cost.

use crate::Nanos;
use tcasm_agent::Agreed;

/// A death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The agent of a node dies. The other agents keep what they have, and are connected anew.
    Agent(usize),
    /// The agent of a node dies, and MPI ends all other agents. All are started anew.
    AllAgents,
    /// A rank dies, and MPI ends all other ranks. Agents and memory stay: they commit the
    /// checkpoint that they are writing, and write the agreed step as another one. The simulation
    /// starts again from that.
    Rank,
    /// A node dies with its memory, and MPI ends all ranks and agents. The simulation starts again
    /// from the newest checkpoint that was committed before.
    Node,
}

/// The consequences of a failure.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// The failure.
    pub failure: Failure,
    /// The time of the failure.
    pub at: Nanos,
    /// The newest step that all ranks had reached then.
    pub reached: u64,
    /// The newest step of the fastest rank then.
    pub newest: u64,
    /// The step from which the ranks start again, or `None` if they go on.
    pub from: Option<u64>,
    /// The newest step that was agreed then.
    pub agreed: Option<Agreed>,
    /// The time until the next step was agreed that the ranks have published since they go on, once
    /// one is.
    pub gap: Option<Nanos>,
}

impl Loss {
    /// Returns the number of steps that all ranks must compute again.
    pub fn lost(&self) -> u64 {
        self.from
            .map_or(0, |from| self.reached.saturating_sub(from))
    }

    /// Returns the number of steps that the fastest rank must compute again.
    pub fn lost_by_fastest(&self) -> u64 {
        self.from.map_or(0, |from| self.newest.saturating_sub(from))
    }
}
