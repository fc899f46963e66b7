//! Uses of agreed steps.

use crate::agreement::{Agreed, Decision, Held};
use std::error::Error;
use std::sync::Arc;
use tcasm_observer::GroupVersion;

/// An agreed step, pinned in all regions of this node. Clones share the pins.
pub type Pinned = Arc<Held<GroupVersion>>;

/// The reason why a use cannot go on. The agents end then.
pub type UseError = Box<dyn Error + Send + Sync>;

/// A round that has ended. All nodes see the same, but for the pins.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// The decision.
    pub decision: &'a Decision,
    /// The agreed step, if this node has ranks.
    pub agreed: Option<&'a Pinned>,
    /// This use had finished on all nodes when the round began.
    pub idle: bool,
    /// This use of some node has called ([`Progress::call`]).
    pub called: bool,
    /// Ranks of some node had died when the round began, and had not been started again.
    pub lost: bool,
}

/// The state of a use on this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// It has not finished what it began.
    pub busy: bool,
    /// It wants all nodes to do something together.
    pub call: bool,
    /// Steps that it has prepared for a commit. Each is committed when all nodes with ranks have
    /// prepared it ([`Decision::committed`]).
    pub prepared: Vec<Agreed>,
}

/// Something that is done with agreed steps. All nodes have the same uses in the same order.
///
/// No call waits for anything. What takes long is done in parts, or by another thread.
pub trait Use {
    /// Learns that a round has ended. To keep the agreed step pinned, clone it. It takes a place of
    /// the window until the clone is dropped.
    fn decided(&mut self, round: Round<'_>) -> Result<(), UseError>;

    /// Goes on with its work, and returns where it is. Called many times per round.
    fn turn(&mut self) -> Result<Progress, UseError>;
}
