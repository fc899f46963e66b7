//! The node of a job: the agent, and the uses of agreed steps.
//!
//! A [`Use`] does something with agreed steps, for example relays or stores them. It holds the pins
//! of a step as long as it needs them. A use that needs all nodes at the same moment asks for it
//! ([`Progress::call`]): then all nodes learn in the same round that somebody has called.

mod bits;
mod ranks;
mod run;
mod uses;

pub use ranks::RanksHere;
pub use run::{End, Node, NodeError};
pub use uses::{Pinned, Progress, Round, Use, UseError};
