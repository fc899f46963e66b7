//! The command as users run it, against producers that live in this process.

mod checkpoint;
mod common;
mod demo;
mod dump;
mod failures;
mod look;
mod stats;
mod tiers;
