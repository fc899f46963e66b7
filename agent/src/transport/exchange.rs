//! Exchanges: each agent gives bytes, and gets those of all agents.

use super::Suspicion;

/// A way to give bytes to all agents. An all-gather does it.
///
/// Each agent takes part in each exchange. Exchanges do not overlap.
pub trait Exchange {
    /// Begins an exchange with the bytes of this agent. The exchange before must be over.
    fn begin(&mut self, mine: Vec<u8>) -> Result<(), Suspicion>;

    /// Returns the bytes of all agents, in the order of agents, once all have begun the exchange.
    /// Waits for nothing.
    fn poll(&mut self) -> Result<Option<Vec<Vec<u8>>>, Suspicion>;
}
