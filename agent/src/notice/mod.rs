//! The region in which the agent of a node publishes what all agents have agreed on.
//!
//! Observers of the node read it without MPI: the newest agreed step is pinned in all local regions
//! until a newer one is published. Its block table says which rank has which part of each global
//! array, on which host.

mod blocks;
mod publisher;
mod region;

pub use blocks::{BlockRow, BlockTable, HostRow};
pub use publisher::{Notice, Whose};
pub use region::NoticeError;
