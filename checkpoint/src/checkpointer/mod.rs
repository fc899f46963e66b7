//! The writer of the checkpoints of a run: it fills files, commits them, and keeps its tiers in
//! order.

mod commit;
mod fill;
mod report;
mod room;
mod settings;
mod writer;

pub use report::{Counters, Written};
pub use settings::Settings;
pub use writer::{Checkpointer, Filled};
