//! The regions of the ranks of one node, as an agent sees them.

mod observed;
mod roster;
mod span;

pub use observed::{Observed, ObservedError};
pub use roster::{Roster, RunId};
pub use span::Span;

pub(crate) use roster::marks_of_all;

/// The state of the local regions at a moment.
#[derive(Clone, Debug)]
pub struct Look {
    /// The ranks whose versions these are, or `None` while they have none, or are of several runs.
    pub roster: Option<Roster>,
    /// The newest steps of the local ranks.
    pub newest: Span,
    /// The steps that all local ranks have, in ascending order.
    pub steps: Vec<u64>,
    /// The most versions that each local region can have at once: the fewest of all regions.
    pub versions: usize,
}

impl Look {
    /// Returns what an agent sees on a node without regions.
    pub fn nothing() -> Look {
        Look {
            roster: None,
            newest: Span::EMPTY,
            steps: Vec::new(),
            versions: usize::MAX,
        }
    }
}

/// The regions of the ranks of one node.
///
/// An agent only looks at them, and pins versions. So no producer ever waits for an agent (G4): the
/// trait has no call that a producer would have to answer.
pub trait Regions {
    /// The versions of one step of all local ranks. They are pinned until this is dropped.
    type Pin;
    /// The reason why regions cannot be read.
    type Error: std::error::Error + 'static;

    /// Returns the present state. All parts of it are of one moment.
    fn look(&mut self) -> Result<Look, Self::Error>;

    /// Pins the versions of all local ranks that have this step and are of the run of the last
    /// look. Returns `None` if one of them is gone. Then none stays pinned.
    fn pin(&mut self, step: u64) -> Result<Option<Self::Pin>, Self::Error>;
}
