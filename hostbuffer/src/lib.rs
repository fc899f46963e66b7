//! One buffer per host, at the same virtual address in every process of a job, on every host.
//!
//! Processes create it together while the job starts, before they build their objects. There are
//! no locks, and nothing is promised about the order of stores: initialise once, then read.
//!
//! ```no_run
//! use std::time::Duration;
//! use tcasm_hostbuffer::HostBuffer;
//!
//! let buffer = HostBuffer::create_or_attach("weather", 1 << 30)?;
//! if buffer.created() {
//!     // Fill the table through `buffer.as_ptr()`, and then seal it.
//!     buffer.seal("data")?;
//! }
//! let table: &[u8] = buffer.wait_sealed("data", Duration::from_secs(60))?;
//! # let _ = table;
//! # Ok::<(), tcasm_hostbuffer::HostBufferError>(())
//! ```
//!
//! With [`HostBufferBuilder::processes`] all processes of the host get the buffer, or none does.
//! With [`HostBufferBuilder::agreement`] this holds for all hosts of the job.
#![deny(unsafe_code)]

mod agreement;
mod buffer;
mod builder;
mod claim;
mod collective;
mod device;
mod error;
mod gpu;
mod join;
mod keeper;
#[cfg(test)]
mod keeper_tests;
mod layout;
mod lead;
mod leader;
mod link;
mod memory;
#[cfg(feature = "mpi")]
pub mod mpi;
mod probe;
mod regions;
mod seals;
mod space;
mod state;
pub mod tcp;
mod wire;

pub use agreement::{Agreement, AgreementError, Alone, Local};
pub use buffer::HostBuffer;
pub use builder::HostBufferBuilder;
pub use collective::{AllGather, Collective};
pub use device::DeviceSection;
pub use error::{HostBufferError, Refusal};
pub use gpu::GpuRegistration;
pub use layout::{Backing, Pages, Placement, Section};
pub use probe::{Probe, probe};
#[doc(hidden)]
pub use wire::decode_any;
