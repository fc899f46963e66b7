//! Checkpoints of a job as a use of agreed steps.
//!
//! The writer of a node ([`JobWriter`](tcasm_checkpoint::job::JobWriter)) works on a thread of its
//! own, because it waits for disks and for other nodes. The thread of the agent, which alone may
//! call MPI, carries its messages and tells it what was decided.
//!
//! | module | contents |
//! |---|---|
//! | `arguments` | the arguments of the program |
//! | `due` | the steps that are written, also the agreed one when ranks have died |
//! | `uses` | begins a checkpoint of such a step, on all nodes in the same round |
//! | `worker` | the thread of the writer |
//! | `node` | the versions of a node, as the writer takes them |
//! | `mail` | messages between writers, carried by the agents |

mod arguments;
mod due;
mod mail;
mod node;
mod uses;
mod worker;

pub use arguments::CheckpointArguments;
pub use due::Due;
pub use uses::Checkpoints;
