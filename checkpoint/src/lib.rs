//! Checkpoints of versions, and restart from them.
//!
//! A checkpoint is one file. ParaView, VisIt and h5py, or programs that read openPMD, open it
//! without a plugin, and every field is restored from it bit by bit, unless its values are to be
//! rounded ([`FieldDesc::relative_error`](tcasm_core::field::FieldDesc::relative_error)). The file
//! is written under a temporary name and renamed when it is on the disk, so a file with the final
//! name is complete. A seal at its end proves that before HDF5 reads it.
//!
//! ```
//! use tcasm_checkpoint::{Checkpoint, Checkpointer, Options, Snapshot};
//! use tcasm_core::field::{DType, FieldDesc, FieldTable};
//! use tcasm_core::format::stamp::Stamp;
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

mod changed;
mod checkpointer;
mod error;
mod file;
mod format;
pub mod job;
mod options;
mod read;
mod series;
mod snapshot;
mod tier;
mod units;
mod write;

pub use changed::changed_bytes;
pub use checkpointer::{Checkpointer, Counters, Filled, Settings, Written};
pub use error::{ReadError, WriteError};
pub use file::Mode;
pub use options::{Compression, DirectIo, Layout, Options, Purpose};
pub use read::{Checkpoint, Loaded, Verified, Verifier};
pub use series::{Appended, FilledRow, SeriesOptions, TimeSeries};
pub use snapshot::Snapshot;
pub use tier::Retention;
pub use tier::contents::{Contents, Entry, Item, Kind};
pub use tier::drain::State as Draining;
pub use tier::{checkpoint_files, checkpoint_files_named, manifests, manifests_named};
pub use write::{Place, places, places_in_series, write, write_new};
