//! Why a region could not be rebuilt.

use std::path::PathBuf;
use tcasm_core::place::BadName;
use tcasm_core::sys::owner;
use tcasm_observer::{AttachError, ObserveError, ReadError};
use tcasm_producer::{CreateError, DefineError, ViewError};
use thiserror::Error;

/// Why a region could not be rebuilt, or its fields not be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A checkpoint could not be read.
    #[cfg(feature = "files")]
    #[error(transparent)]
    File(#[from] tcasm_checkpoint::ReadError),
    /// A checkpoint of a job could not be read.
    #[cfg(feature = "files")]
    #[error(transparent)]
    Job(#[from] tcasm_checkpoint::job::JobError),
    /// The job has another number of ranks than its checkpoint.
    #[error(
        "step {step} of job {group:?} was written by {stored} ranks, and there are {asked} now; \
         start {stored} ranks, or define the fields and load RankState::for_blocks"
    )]
    OtherRanks {
        /// The name of the group.
        group: String,
        /// The step of the checkpoint.
        step: u64,
        /// The number of ranks that have written it.
        stored: u32,
        /// The number of ranks now.
        asked: u32,
    },
    /// No `tcasm keep` holds versions of the region.
    #[error(
        "no `tcasm keep` holds versions of {name:?}: nothing listens at {path:?}; run `tcasm keep \
         {name}` beside the producer, or restart from files"
    )]
    NotKept {
        /// The name of the region.
        name: String,
        /// The socket.
        path: PathBuf,
    },
    /// The dead producer had published nothing.
    #[error("the producer of {0:?} had published nothing when it died; restart from files")]
    NothingKept(String),
    /// The producer has not died.
    #[error(
        "the producer of {name:?}, process {pid}, still runs: its versions can be restored only \
         when it is gone; attach to it, or end it"
    )]
    Runs {
        /// The name of the region.
        name: String,
        /// The process id of the producer.
        pid: u64,
    },
    /// Another process already holds the versions of the region.
    #[error(
        "{} already holds the versions of {name:?}; one `tcasm keep` is enough",
        owner::text(*pid)
    )]
    KeptBy {
        /// The name of the region.
        name: String,
        /// The process id.
        pid: i32,
    },
    /// A region cannot have this name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// Attaching to the region failed.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// Waiting for a version failed.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A version in memory could not be read.
    #[error("the version in memory cannot be read: {0}")]
    Kept(#[from] ReadError),
    /// The region could not be created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// A field of the region could not be defined.
    #[error(transparent)]
    Define(#[from] DefineError),
    /// A field of the region could not be written to.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The file does not hold all fields of the version.
    #[error(
        "the checkpoint of step {step} of region {region:?} lacks fields: it was written without \
         {fields:?}, or with a part of them; restart from another one, or read the fields that \
         it has (Checkpoint::read_bytes)"
    )]
    Lacks {
        /// The region of the state.
        region: String,
        /// The step of the state.
        step: u64,
        /// The names of the fields.
        fields: Vec<String>,
    },
    /// The file holds rounded values, and this was not accepted.
    #[error(
        "the checkpoint of step {step} of region {region:?} is lossy: the values of {fields:?} \
         are rounded, with a relative error of up to {relative_error:e}; restart from another \
         one, or accept that (Checkpoint::allow_lossy)"
    )]
    Lossy {
        /// The region of the state.
        region: String,
        /// The step of the state.
        step: u64,
        /// The names of the fields.
        fields: Vec<String>,
        /// The largest bound of the relative error of a field.
        relative_error: f64,
    },
    /// The state has a field that the producer does not have.
    #[error(
        "the producer has no field {name:?}, which the state of {region:?} has; add it before \
         loading"
    )]
    NoField {
        /// The region of the state.
        region: String,
        /// The name of the field.
        name: String,
    },
    /// A field of the producer differs from that of the state.
    #[error(
        "field {name:?} has another {what} than in the state: {here} here, {there} there; load a \
         state of the same program"
    )]
    OtherField {
        /// The name of the field.
        name: String,
        /// The property that differs.
        what: &'static str,
        /// Its value in the producer.
        here: String,
        /// Its value in the state.
        there: String,
    },
}
