//! Groups: the regions of several ranks, observed one step at a time.

mod candidates;
mod error;
mod members;
mod observer;
mod seen;
mod steps;
mod version;

pub use candidates::GroupSteps;
pub use error::GroupError;
pub use observer::GroupObserver;
pub use version::{FieldBlock, GroupVersion};
