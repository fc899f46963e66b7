//! The interface of a producer besides publishing: a program adds fields and meshes, views and
//! restores their memory, sets their lengths, places meshes, and manages the region.

mod adopt;
mod buffers;
mod declare;
mod fields;
mod lengths;
mod manage;
mod meshes;
mod part;
mod placing;
mod rebuild;
mod rollback;
mod stats;
mod untyped;
mod views;

pub use fields::{FieldBuilder, RawBuilder};
pub use lengths::Lengths;
pub use meshes::MeshBuilder;
pub use part::{Buffers, Part};
pub use rollback::RolledBack;
pub use stats::ProducerStats;
pub use untyped::{AnyBuffer, Captured};
