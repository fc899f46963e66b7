//! Continues a simulation from an earlier state: from checkpoints, or from versions of a dead
//! producer that are still in memory.
//!
//! A program can do the same at its first start and after a crash. It gets the region as it was,
//! with all fields at their old addresses, or a new one:
//!
//! ```
//! use tcasm_producer::Producer;
//! use tcasm_restart::{Continue, Start};
//! # let dir = tempfile::tempdir()?;
//! # let dirs = [dir.path()];
//!
//! let builder = Producer::builder("heat-on").capacity(1 << 20).history(4);
//! let (mut producer, step) = match builder.restore_or_begin(&dirs)? {
//!     Start::Restored(last) => (last.producer, last.stamp.step),
//!     Start::New(mut producer) => {
//!         producer.field::<f64, _>("t", [64, 64]).add()?;
//!         (producer, 0)
//!     }
//! };
//! # assert_eq!(step, 0);
//! let t = producer.handle::<f64, tcasm_producer::ndarray::Ix2>("t")?;
//! producer.view_mut(t)?.fill(step as f64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program that adds its fields itself, with second buffers or hand-over, does so as always, and
//! then loads their values:
//!
//! ```
//! use tcasm_producer::Producer;
//! use tcasm_restart::{Continue, Load};
//! # use tcasm_checkpoint::{Checkpoint, Options, Snapshot};
//! # use tcasm_core::field::{DType, FieldDesc, FieldTable};
//! # let dir = tempfile::tempdir()?;
//! # let dirs = [dir.path()];
//! # let stamp = tcasm_core::format::stamp::Stamp { version: 7, step: 70, time: 0.7 };
//! # let values = [0u8; 64 * 64 * 8];
//! # let table = FieldTable {
//! #     fields: vec![FieldDesc::new("t", DType::F64, &[64, 64])],
//! #     ..Default::default()
//! # };
//! # let snapshot = Snapshot::new("heat", stamp, &table, |_| &values);
//! # let file = dir.path().join("heat_00000070.vtkhdf");
//! # tcasm_checkpoint::write(file, &snapshot, &Options::default())?;
//!
//! let checkpoint = Checkpoint::restart(&dirs, None)?; // the newest that can be read
//! let builder = Producer::builder("heat-again").capacity(1 << 20).continue_from(&checkpoint);
//! let mut producer = builder.create()?;
//! let t = producer.field::<f64, _>("t", [64, 64]).add()?;
//! let stamp = producer.load(&checkpoint)?; // every field of the checkpoint
//! assert_eq!(stamp.step, 70);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Restore`] rebuilds a region with its old name too, for programs that know nothing of it.
//! [`Holder`] is what `tcasm keep` runs: it holds the versions that a producer leaves when it dies,
//! for the next producer of that name.
#![deny(unsafe_code)]

mod continued;
mod error;
#[cfg(feature = "files")]
mod files;
mod holder;
#[cfg(feature = "files")]
mod job;
mod memory;
mod restore;
#[cfg(feature = "files")]
mod start;
mod state;
mod watch;

pub use continued::Continue;
pub use error::RestoreError;
pub use holder::{Event, Holder};
#[cfg(feature = "files")]
pub use job::{ContinueJob, RankState};
pub use memory::kept;
pub use restore::{Load, Restore, Restored, rebuild};
#[cfg(feature = "files")]
pub use start::Start;
pub use state::State;
