//! The producer's store of versions: its planes and its index. It captures pages, publishes
//! versions and reclaims them.
//!
//! `state` holds the store itself, and its parts are beside it: `ring`, `recent`, `batch`, `handed`
//! and `in_flight`. Each of the other files is one thing that the store does.

mod appointed;
mod assemble;
mod audit;
mod batch;
mod compact;
mod compare;
mod deferred;
mod handed;
mod handover;
mod in_flight;
mod nodes;
mod publish;
mod recent;
mod reclaim;
mod reserve;
mod retention;
mod ring;
mod rollback;
mod room;
mod share;
mod state;
mod terms;
#[cfg(test)]
mod tests;
mod write;

pub use appointed::RESERVED_VERSIONS;
pub use handed::{FEWEST_VERSIONS, HandOverError};
pub use in_flight::Settled;
pub use rollback::{Patch, Recalled, Relocation};
pub use share::ShareTarget;
pub use state::Store;
pub use terms::{Bounds, Capture, Captured, NotPublished, Skip, StoreError, Visibility};
