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
    /// A rank dies, and MPI ends all other ranks. Agents and memory stay, and a checkpoint that
    /// they are writing is committed. The simulation starts again from the newest one.
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
    /// The step from which the simulation goes on. It has lost the steps between.
    pub from: u64,
    /// The newest step that was agreed when it was.
    pub agreed: Option<Agreed>,
    /// The time until the next step was agreed, once one is.
    pub gap: Option<Nanos>,
}

impl Loss {
    /// Returns the number of steps that must be computed again.
    pub fn lost(&self) -> u64 {
        self.reached.saturating_sub(self.from)
    }
}
