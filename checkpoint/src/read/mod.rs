//! How checkpoints are found, checked and read.

mod chain;
mod checkpoint;
mod link;
mod load;
mod open;
mod search;
mod verify;

pub use checkpoint::Checkpoint;
pub use load::Loaded;
pub use verify::{Verified, Verifier};
