//! Device memory of other processes, by the IPC handles of CUDA.
//!
//! The owner of memory exports it ([`Exporter`]), and sends the bytes of an [`Exported`] to another
//! process, its *peer*. The peer opens it, which is expensive, and keeps it opened ([`IpcCache`]).
//! Ranges of addresses are those of the owner: they are not mapped here, so nothing of this follows
//! the address space or rounds to pages.

mod cache;
#[cfg(test)]
mod counting;
mod driver;
mod error;
mod export;
mod exported;
mod opened;
#[cfg(test)]
mod opened_tests;
mod opener;
mod peer;

pub use cache::{IpcCache, IpcMemory};
pub use error::{DecodeError, IpcError};
pub use export::Exporter;
pub use exported::Exported;
pub use peer::Peer;
