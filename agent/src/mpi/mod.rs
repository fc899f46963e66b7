//! Rounds, exchanges and messages of agents by MPI.
//!
//! The crate `mpi` ignores the error codes of MPI, so this calls its C functions. All calls happen
//! on the thread that has initialised MPI (`MPI_THREAD_FUNNELED`). Each part has a communicator of
//! its own, so that the order of calls of one part does not matter to another one.

mod comm;
mod exchange;
mod pending;
mod post;
mod rounds;
mod start;

pub use comm::MpiError;
pub use exchange::MpiExchange;
pub use post::MpiPost;
pub use rounds::MpiRounds;
pub use start::Job;
