//! The agents of a job of many ranks, which agree on steps that all ranks on all nodes have.
//!
//! Each rank publishes versions in a region of its own, at its own speed. One agent per node
//! follows the regions of its node. All agents take part in rounds: each gives an [`Offer`], a
//! [`Transport`] merges the offers of all, and everyone gets the same result. All agents decide by
//! this result alone which step is agreed, so they need no more messages.
//!
//! | module | contents |
//! |---|---|
//! | [`agreement`] | the state machine of an agent, with its invariants |
//! | [`regions`] | the trait that an agent sees regions by, and its implementation for observers |
//! | [`offer`] | what agents offer, and how offers are merged |
//! | [`transport`] | the traits of rounds, exchanges and messages, and rounds by channels |
//! | [`node`] | what runs on a node: the agent, and what is done with agreed steps |
//! | [`relay`] | agreed steps go to analysis nodes |
//! | `checkpoints` | checkpoints of agreed steps (feature `files`) |
//! | [`notice`] | the region in which agreed steps are published |
//! | `mpi` | rounds, exchanges and messages by MPI (feature `mpi`) |
//! | `program` | the program `tcasm-agent` (feature `mpi`) |

#![deny(unsafe_code)]

pub mod agreement;
#[cfg(feature = "files")]
pub mod checkpoints;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod node;
pub mod notice;
pub mod offer;
#[cfg(feature = "mpi")]
pub mod program;
pub mod regions;
pub mod relay;
pub mod transport;

pub use agreement::{Agent, AgentError, Agreed, Decision, Rule, Settings};
pub use offer::Offer;
pub use regions::{Look, Observed, Regions, Roster, RunId};
pub use transport::{Suspicion, Transport};
