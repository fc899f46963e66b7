//! Groups: the regions of several ranks, observed one step at a time.

mod candidates;
mod error;
mod global;
mod members;
mod observer;
mod seen;
mod steps;
mod version;

pub use candidates::GroupSteps;
pub use error::GroupError;
pub use global::{GlobalArrayError, GlobalBlock, GlobalField, GlobalView, Row, Rows};
pub use observer::GroupObserver;
pub use version::{FieldBlock, GroupVersion};
