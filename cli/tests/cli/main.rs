//! The command as users run it, against producers that live in this process.

mod changing;
mod checkpoint;
mod common;
mod demo;
mod dump;
mod escapes;
mod failures;
mod follow;
mod look;
mod misuse;
mod paraview;
mod stats;
mod tiers;
mod view;
mod watch;
