//! The errors of writing checkpoints.

use super::read::ReadError;
use std::io;
use std::path::PathBuf;
use tcasm_core::field::TableError;
use thiserror::Error;

/// Why a checkpoint could not be written. Older checkpoints are always untouched.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The folder does not exist.
    #[error("the directory {0:?} does not exist; create it, or choose another")]
    NoDirectory(PathBuf),
    /// A new file would replace another one.
    #[error("{0:?} exists already and is not replaced; choose another name, or move it away")]
    Exists(PathBuf),
    /// The user may not write there, or the file system is read-only.
    #[error(
        "writing {path:?} is not permitted: {source}; check its owner and that the file system is \
         writable"
    )]
    NotPermitted {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk is full, or a quota or a limit on file sizes is reached.
    #[error(
        "no room to write {path:?}: {source}; free space or raise the limit. Older files are \
         untouched"
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system could not write a file.
    #[error("writing {path:?} failed: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// HDF5 could not write a file, and no error of the system is known.
    #[error("writing {path:?} failed inside HDF5: {message}")]
    Hdf5 {
        /// The file.
        path: PathBuf,
        /// HDF5's error.
        message: String,
    },
    /// A new file could not be read back, so it was removed before it got its name.
    #[error(
        "{path:?} was written, but cannot be read back ({why}); it is discarded. Check the disk"
    )]
    NotWritten {
        /// The path that the file should have got.
        path: PathBuf,
        /// The value that was found instead.
        why: String,
    },
    /// A snapshot gave the wrong number of bytes for a field.
    #[error("field {field:?} needs {need} bytes, but the snapshot gave {have}")]
    Bytes {
        /// The name of the field.
        field: String,
        /// The bytes that the field has.
        need: u64,
        /// The bytes that the snapshot gave.
        have: usize,
    },
    /// A field has no values, and the table says so.
    #[error(
        "field {field:?} is lost: its memory in the simulation was unmapped, moved or replaced, so \
         there are no values to store; leave it out"
    )]
    Lost {
        /// The name of the field.
        field: String,
    },
    /// The cells of a mesh cannot be used by other programs.
    #[error(
        "mesh {mesh:?} cannot be written for other programs: {why}; correct its connectivity, or \
         leave its fields out"
    )]
    Cells {
        /// The name of the mesh.
        mesh: String,
        /// The defect, with the cell and the value.
        why: String,
    },
    /// The field table could not be encoded.
    #[error("the field table cannot be stored: {0}")]
    Table(#[from] TableError),
    /// Checkpoints cannot have this name.
    #[error(
        "{0:?} is not usable as a name of checkpoints; use letters, digits, '.', '_' and '-', and \
         no leading '.'"
    )]
    Name(String),
    /// The manifest could not be read.
    #[error(transparent)]
    Manifest(ReadError),
    /// The folder holds the manifest of another run.
    #[error(
        "{path:?} is the manifest of another run: of {found}, not of {expected}; choose another \
         folder, or another name"
    )]
    OtherRun {
        /// The manifest.
        path: PathBuf,
        /// The region and the run that the manifest names.
        found: String,
        /// The region and the run that were expected.
        expected: String,
    },
    /// Both tiers are the same folder.
    #[error("{0:?} and {1:?} are the same folder; choose another folder for the slow tier")]
    SameFolder(PathBuf, PathBuf),
    /// The step does not come after the last one that this checkpointer has written.
    #[error(
        "step {step} does not come after step {last}, which is already written; start a new \
         checkpointer for a simulation that goes back in time"
    )]
    Backwards {
        /// The step of the new checkpoint.
        step: u64,
        /// The step of the last checkpoint.
        last: u64,
    },
    /// The first step comes before a checkpoint of an earlier start.
    #[error(
        "step {step} comes before step {last}, which already has a checkpoint; continue from that \
         one, choose another folder or name, or allow later checkpoints to be replaced"
    )]
    Before {
        /// The step of the new checkpoint.
        step: u64,
        /// The step of the newest checkpoint in the folder.
        last: u64,
    },
    /// A checkpoint could not be copied to the slow tier.
    #[error("a checkpoint cannot be copied to the slow tier: {0}")]
    Copy(ReadError),
    /// A thread could not be started.
    #[error("no thread can be started: {0}")]
    Thread(io::Error),
    /// Another checkpointer has the folder open for writing.
    #[error(
        "another checkpointer writes {name:?} in {dir:?} at this moment; choose another name or \
         directory"
    )]
    Busy {
        /// The folder.
        dir: PathBuf,
        /// The name of the checkpoints.
        name: String,
    },
    /// A time series cannot have this path.
    #[error("{0:?} is not usable as a time series: give it a name that ends in .vtkhdf")]
    SeriesName(PathBuf),
    /// There is another file where the time series should be.
    #[error(
        "{path:?} exists, but is not a time series that can be continued ({why}); choose another \
         name, or move the file away"
    )]
    NotSeries {
        /// The file.
        path: PathBuf,
        /// Why it is not a time series.
        why: String,
    },
    /// There is the time series of another region.
    #[error(
        "{path:?} is the time series of region {found:?}, not of {expected:?}; choose another \
         name, or move it away"
    )]
    OtherSeries {
        /// The file.
        path: PathBuf,
        /// The region of that time series.
        found: String,
        /// The region to be written.
        expected: String,
    },
    /// There are rows of a time series, but its file is missing.
    #[error(
        "{rows:?} holds the rows of a time series whose file {path:?} is missing; restore that \
         file, or move the folder away"
    )]
    LeftRows {
        /// The folder of the rows.
        rows: PathBuf,
        /// The missing file.
        path: PathBuf,
    },
    /// The step does not come after the last one of the time series.
    #[error(
        "step {step} does not come after step {last}, which {path:?} already holds; choose another \
         name, or allow later versions to be replaced"
    )]
    Earlier {
        /// The file of the time series.
        path: PathBuf,
        /// The step of the new version.
        step: u64,
        /// The last step of the time series.
        last: u64,
    },
}

impl WriteError {
    /// Returns true if a later attempt may succeed, for example after a folder is mounted again or
    /// space is freed on a disk, or if a later version can be written although this one cannot.
    pub fn may_pass(&self) -> bool {
        use WriteError::*;
        matches!(
            self,
            NoDirectory(_)
                | NotPermitted { .. }
                | NoSpace { .. }
                | Io { .. }
                | Hdf5 { .. }
                | NotWritten { .. }
                | Cells { .. }
                | Copy(_)
        )
    }
}
