//! Groups: the regions of several ranks, observed one step at a time.

mod agreed;
mod candidates;
mod ends;
mod error;
mod global;
mod members;
mod observer;
mod runs;
mod seen;
mod steps;
mod version;

pub use agreed::AgreedStep;
pub use candidates::GroupSteps;
pub use ends::GroupEnds;
pub use error::GroupError;
pub use global::{GlobalArrayError, GlobalBlock, GlobalField, GlobalView, Row, Rows};
pub use observer::GroupObserver;
pub use version::{FieldBlock, GroupVersion};
