//! The start of MPI, and the connections of all agents.

use super::comm::{Comm, MpiError};
use super::exchange::MpiExchange;
use super::post::MpiPost;
use super::rounds::MpiRounds;
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::Communicator;

/// The agents of a job, which one start of MPI (`mpirun`, `srun`) has started together.
pub struct Job {
    /// The rounds of the agreement.
    pub rounds: MpiRounds,
    /// Exchanges of tables.
    pub exchange: MpiExchange,
    /// Messages of the relay.
    pub post: MpiPost,
    /// Messages of the writers of checkpoints.
    pub letters: MpiPost,
    /// The number of this agent, from 0.
    pub rank: usize,
    /// The number of agents.
    pub agents: usize,
    /// MPI, as long as this exists.
    pub universe: MpiLife,
}

/// MPI, which is finalised when this is dropped. All agents drop it together.
pub struct MpiLife(Universe);

impl MpiLife {
    /// Ends all agents at once with this exit status, because this one cannot go on.
    pub fn abort(&self, status: i32) -> ! {
        self.0.world().abort(status)
    }
}

impl Job {
    /// Initialises MPI, and connects the agents. Must be called on the main thread, once.
    pub fn start() -> Result<Job, MpiError> {
        let error = |why: String| MpiError {
            what: "start".to_owned(),
            why,
        };
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, level) =
            started.ok_or_else(|| error("it has been initialised already".to_owned()))?;
        if level < Threading::Funneled {
            return Err(error(format!("it offers threads of level {level:?} only")));
        }
        let all = Comm::of_world()?;
        Ok(Job {
            rounds: MpiRounds::connect()?,
            exchange: MpiExchange::connect()?,
            post: MpiPost::connect()?,
            letters: MpiPost::connect()?,
            rank: all.rank()?,
            agents: all.size()?,
            universe: MpiLife(universe),
        })
    }
}
