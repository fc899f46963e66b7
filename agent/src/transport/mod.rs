//! The means by which agents reach each other: rounds, in which the offers of all agents become one
//! result that everyone gets; exchanges of bytes; and messages.

mod channels;
mod exchange;
mod post;

pub use channels::{Channels, channels};
pub use exchange::Exchange;
pub use post::{Message, Post};

use crate::offer::OfferBytes;
use thiserror::Error;

/// A round has failed, so an agent may be dead.
///
/// Any error of a transport means this. Some agents may have got the result of the round, and
/// others this error. The agents need a new transport then
/// ([`Agent::rejoin`](crate::Agent::rejoin)).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a round of the agents failed: {why}; connect the agents that are left, or start all anew")]
pub struct Suspicion {
    /// The error of the transport.
    pub why: String,
}

/// A way to merge the offers of all agents. A reduction does it, for example `MPI_Iallreduce` with
/// [`merge_bytes`](crate::offer::merge_bytes) as its operation.
///
/// Each agent takes part in each round. Results come in the order of rounds.
pub trait Transport {
    /// Begins a round with this agent's offer. The round before must be over.
    fn begin(&mut self, offer: &OfferBytes) -> Result<(), Suspicion>;

    /// Returns the offers of all agents, merged, once all have begun the round. Waits for nothing.
    fn poll(&mut self) -> Result<Option<OfferBytes>, Suspicion>;
}
