//! Messages from one agent to another.

use super::Suspicion;

/// A message that another agent has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The number of the sender.
    pub from: usize,
    /// The message.
    pub bytes: Vec<u8>,
}

/// A way to send messages to single agents. Messages of one sender come in the order in which it
/// has sent them. No call waits.
pub trait Post {
    /// Returns true if a message can be sent now.
    fn can_send(&mut self) -> Result<bool, Suspicion>;

    /// Begins to send a message.
    fn send(&mut self, to: usize, bytes: Vec<u8>) -> Result<(), Suspicion>;

    /// Returns true if no message of this agent is on its way.
    fn all_sent(&mut self) -> Result<bool, Suspicion>;

    /// Returns the next message that has come, if any.
    fn receive(&mut self) -> Result<Option<Message>, Suspicion>;
}
