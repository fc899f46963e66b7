//! Keeps memory registered for devices, and lets no registration outlive its mapping.
//!
//! Registering memory for a device costs up to 100 us, so registrations are kept. But memory that
//! was unmapped and mapped again at the same address is other memory, and a device that uses the
//! old registration reads and writes pages that nobody sees. [`RegistrationCache`] follows the
//! address space by events of userfaultfd, so such memory is never a hit.
//!
//! ```
//! use tcasm_registration::{Limits, Recording, RegistrationCache};
//!
//! let cache = RegistrationCache::builder(Recording::default())
//!     .limits(Limits::keep_at_most(1024, 1 << 30))
//!     .build()?;
//! let buffer = vec![0u8; 1 << 16];
//! let first = cache.get(buffer.as_ptr() as usize, buffer.len())?;
//! assert!(first.is_current());
//! drop(first); // it stays registered
//! let again = cache.get(buffer.as_ptr() as usize, buffer.len())?;
//! assert!(again.is_current());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`IpcCache`] keeps memory of other processes opened that lies on a device.
//!
//! `docs/registration.md` says how close to synchronous this is, and which window remains.
#![deny(unsafe_code)]

mod builder;
mod cache;
mod coverage;
mod emptied;
mod error;
mod everything;
mod follow;
mod inner;
mod ipc;
mod limits;
mod maps;
mod probe;
mod registrar;
mod registrars;
mod ring;
mod room;
mod state;
mod sweep;
mod watch;

pub use builder::{Builder, Following};
pub use cache::{Registration, RegistrationCache, Stats};
pub use error::{BuildError, GetError, RegisterError};
pub use everything::Everything;
pub use ipc::{DecodeError, Exported, Exporter, IpcCache, IpcError, IpcMemory, Peer};
pub use limits::{AtLimit, Limits};
pub use probe::{Verdict, probe};
pub use registrar::{Memory, Registrar};
pub use registrars::Absent;
pub use registrars::cuda::{Cuda, CudaMemory};
pub use registrars::ibverbs::{Ibverbs, MemoryRegion};
pub use registrars::io_uring::IoUring;
pub use registrars::mlock::Mlock;
pub use registrars::recording::{Recording, Token};
