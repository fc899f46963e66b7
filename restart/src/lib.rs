//! Going on where a simulation was: a region rebuilt from checkpoints, or from what a dead producer has left in memory.
//!
//! A program that knows its fields adds them as always, and has them filled:
//!
//! ```
//! use tcasm_producer::Producer;
//! use tcasm_restart::{Continue, Load};
//! # use tcasm_checkpoint::{Checkpoint, Options, Snapshot};
//! # let dir = tempfile::tempdir()?;
//! # let dirs = [dir.path()];
//! # let (values, stamp) = ([0u8; 64 * 64 * 8], tcasm_core::stamp::Stamp { version: 7, step: 70, time: 0.7 });
//! # let table = tcasm_core::field::FieldTable {
//! #     fields: vec![tcasm_core::field::FieldDesc::new("t", tcasm_core::field::DType::F64, &[64, 64])],
//! #     ..Default::default()
//! # };
//! # let snapshot = Snapshot::new("heat", stamp, &table, |_| &values);
//! # tcasm_checkpoint::write(dir.path().join("heat_00000070.vtkhdf"), &snapshot, &Options::default())?;
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
//! [`Restore`] rebuilds a whole region, with nothing known of it: at its old address, with its fields. [`Keeper`] is what
//! `tcasm keep` runs: it holds what a producer leaves when it dies, for the next one of that name.
#![deny(unsafe_code)]

mod error;
#[cfg(feature = "files")]
mod files;
mod keeper;
mod memory;
mod restore;
mod state;
mod watch;

pub use error::RestoreError;
pub use keeper::{Event, Keeper};
pub use memory::kept;
pub use restore::{Continue, Load, Restore, Restored, rebuild};
pub use state::State;
