//! Tiers: folders with the checkpoints of a run, each with a manifest of its own.
//!
//! Whatever moment a writer is killed at, what the manifest says is there is there: a file gets its name when it is on the disk,
//! and its line after that. The next to open the tier takes up a file that has no line yet, and removes what has no name yet.

pub mod compact;
pub mod contents;
pub mod copy;
pub mod drain;
pub mod manifest;
mod open;
mod retention;

pub use open::Tier;
pub use retention::Retention;
