//! Why a region could not be rebuilt.

use std::path::PathBuf;
use tcasm_core::place::BadName;
use tcasm_core::sys::owner;
use tcasm_observer::{AttachError, ObserveError, ReadError};
use tcasm_producer::{CreateError, DefineError, ViewError};
use thiserror::Error;

/// Why a region could not be rebuilt, or not be filled.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum RestoreError {
    #[cfg(feature = "files")]
    #[error(transparent)]
    File(#[from] tcasm_checkpoint::ReadError),
    #[error(
        "nobody keeps what a producer of {name:?} has left: nothing listens at {path:?}; run `tcasm keep {name}` beside it, or restart from files"
    )]
    NotKept { name: String, path: PathBuf },
    #[error("the producer of {0:?} had published nothing when it died; restart from files")]
    NothingKept(String),
    #[error(
        "the producer of {name:?}, process {pid}, still runs: what it leaves can be had when it is gone; attach to it, or end it"
    )]
    Runs { name: String, pid: u64 },
    #[error("what {name:?} has left is kept by {} already; one keeper is enough", owner::text(*pid))]
    KeptBy { name: String, pid: i32 },
    #[error(transparent)]
    Name(#[from] BadName),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    Observe(#[from] ObserveError),
    #[error("what is kept cannot be read: {0}")]
    Kept(#[from] ReadError),
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error(transparent)]
    Define(#[from] DefineError),
    #[error(transparent)]
    View(#[from] ViewError),
    #[error(
        "the producer has no field {name:?}, which the state of {region:?} has; add it before loading"
    )]
    NoField { region: String, name: String },
    #[error(
        "field {name:?} has another {what} than in the state: {here} here, {there} there; a state fits the program that it is of"
    )]
    OtherField {
        name: String,
        what: &'static str,
        here: String,
        there: String,
    },
}
