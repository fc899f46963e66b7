//! Checkpoints of versions, and restart from them.
//!
//! A checkpoint is one file that ParaView, VisIt and h5py open without a plugin, and from which every field is
//! rebuilt bit by bit. It comes into being under a temporary name and is renamed when it is on the disk, so a
//! file that has its name is complete; a seal at its end proves that before HDF5 looks at it.
//!
//! ```
//! use tcasm_checkpoint::{Checkpoint, Checkpointer, Options, Snapshot};
//! use tcasm_core::field::{DType, FieldDesc, FieldTable};
//! use tcasm_core::stamp::Stamp;
//!
//! # let dir = tempfile::tempdir()?;
//! # let dir = dir.path();
//! let table = FieldTable {
//!     fields: vec![FieldDesc::new("temperature", DType::F64, &[2, 3, 4])],
//!     ..FieldTable::default()
//! };
//! let values: Vec<u8> = (0..24).flat_map(|i| f64::from(i).to_le_bytes()).collect();
//! let stamp = Stamp { version: 1, step: 100, time: 0.5 };
//! let snapshot = Snapshot::new("heat", stamp, &table, |_| &values);
//!
//! let mut checkpointer = Checkpointer::new(dir, "heat", Options::default())?;
//! let written = checkpointer.write(&snapshot)?;
//! assert!(written.path.ends_with("heat_00000100.vtkhdf"));
//!
//! let checkpoint = Checkpoint::open(dir)?; // the newest complete one
//! let mut restored = vec![0; values.len()];
//! checkpoint.read_bytes("temperature", &mut restored)?;
//! assert_eq!(checkpoint.stamp(), stamp);
//! assert_eq!(restored, values);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod atomic;
mod attributes;
mod checkpointer;
mod data;
mod error;
mod find;
mod grid;
mod read;
mod seal;
mod series;
mod snapshot;
pub mod vtkhdf;

pub use checkpointer::{Checkpointer, Counters, Written};
pub use error::{ReadError, WriteError};
pub use read::Checkpoint;
pub use series::{Entry, Series};
pub use snapshot::Snapshot;
pub use vtkhdf::{Compression, Options};
