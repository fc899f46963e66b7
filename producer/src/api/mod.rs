//! The interface of a producer besides publishing: a program adds fields, views and restores their
//! memory, and manages the region.

mod buffers;
mod declare;
mod fields;
mod manage;
mod part;
mod rebuild;
mod rollback;
mod stats;
mod views;

pub use fields::{FieldBuilder, RawBuilder};
pub use part::{Buffers, Part};
pub use rollback::RolledBack;
pub use stats::ProducerStats;
