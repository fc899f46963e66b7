//! The errors of reading checkpoints.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use tcasm_core::field::DType;
use thiserror::Error;

/// Why a checkpoint could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system could not read a file.
    #[error("{path:?} cannot be read: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not an HDF5 file.
    #[error("{0:?} is not an HDF5 file, so not a checkpoint")]
    NotHdf5(PathBuf),
    /// The file is an HDF5 file without a seal.
    #[error(
        "{0:?} is an HDF5 file, but not a checkpoint of TCASM, or another program has rewritten it \
         since"
    )]
    Foreign(PathBuf),
    /// The end of the file is missing.
    #[error("{path:?} is cut short after {have} bytes: it was not copied completely")]
    CutShort {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        have: u64,
    },
    /// The structure of the file is damaged.
    #[error("{path:?} is damaged ({why}); use another checkpoint")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The defect.
        why: String,
    },
    /// The values of a field are damaged.
    #[error("field {field:?} in {path:?} is damaged ({why}); use another checkpoint")]
    DamagedField {
        /// The file.
        path: PathBuf,
        /// The name of the field, or of the dataset.
        field: String,
        /// The defect.
        why: String,
    },
    /// A newer program has written the file.
    #[error("{path:?} has format {found}, this program reads up to {known}; use a newer TCASM")]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest format that this program reads.
        known: u64,
    },
    /// The checkpoint has no field of this name.
    #[error("{path:?} has no field {field:?}; it has {}", .have.join(", "))]
    NoField {
        /// The file.
        path: PathBuf,
        /// The name that was requested.
        field: String,
        /// The names of the fields in the checkpoint.
        have: Vec<String>,
    },
    /// The checkpoint has no values of the field, because they were lost.
    #[error(
        "field {field:?} is lost: when {path:?} was written, its memory in the simulation had been \
         unmapped, moved or replaced; use an older checkpoint"
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// The name of the field.
        field: String,
    },
    /// The field has another dtype.
    #[error("field {field:?} has dtype {stored}, not {asked}; ask for {stored}")]
    WrongType {
        /// The name of the field.
        field: String,
        /// Its dtype.
        stored: DType,
        /// The dtype that was requested.
        asked: DType,
    },
    /// The field has another shape.
    #[error("field {field:?} has shape {stored:?}, not {asked:?}")]
    WrongShape {
        /// The name of the field.
        field: String,
        /// Its shape.
        stored: Vec<usize>,
        /// The shape that was requested.
        asked: Vec<usize>,
    },
    /// The field is not an array.
    #[error("field {field:?} holds raw structures ({type_name:?}), not an array; read its bytes")]
    NotAnArray {
        /// The name of the field.
        field: String,
        /// The name of the type of its structures.
        type_name: String,
    },
    /// The buffer does not have the size of the field.
    #[error("field {field:?} has {need} bytes, the buffer {have}; pass one of {need} bytes")]
    WrongSize {
        /// The name of the field.
        field: String,
        /// Its size in bytes.
        need: u64,
        /// The size of the buffer in bytes.
        have: usize,
    },
    /// The file is a checkpoint, but a time series was requested.
    #[error("{0:?} is a checkpoint, not a time series")]
    NotSeries(PathBuf),
    /// The file has the name of a manifest, but is none.
    #[error("{0:?} is not a manifest of checkpoints; move it away, and a new one is created")]
    NotManifest(PathBuf),
    /// The checkpoint lacks fields that a restart needs. Only a search for the newest checkpoint
    /// that can be restarted from says so.
    #[error(
        "{path:?} lacks fields: it was written without {fields:?}, or with a part of them; use \
         another checkpoint"
    )]
    Lacks {
        /// The file.
        path: PathBuf,
        /// The names of the fields.
        fields: Vec<String>,
    },
    /// The checkpoint that an increment builds on is missing.
    #[error(
        "{path:?} builds on the checkpoint of step {base} with id {id}, which is missing; use \
         another checkpoint"
    )]
    NoBase {
        /// The increment.
        path: PathBuf,
        /// The step of its base.
        base: u64,
        /// The identity of the state of its base.
        id: String,
    },
    /// The checkpoint that an increment builds on cannot be used.
    #[error("{path:?} builds on {base:?}, which cannot be used ({why}); use another checkpoint")]
    BadBase {
        /// The increment.
        path: PathBuf,
        /// The file that cannot be used.
        base: PathBuf,
        /// The defect.
        why: String,
    },
    /// The file holds another step than its name says.
    #[error(
        "{path:?} is named after step {named}, but holds step {found}; name it after its step, or \
         use another checkpoint"
    )]
    OtherStep {
        /// The file.
        path: PathBuf,
        /// The step in its name.
        named: u64,
        /// The step that it holds.
        found: u64,
    },
    /// The fields do not fit into memory.
    #[error(
        "the fields of {path:?} need {need} bytes of memory, of which {have} are free; free \
         memory, or use a machine with more"
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The bytes of memory that are needed.
        need: u64,
        /// The bytes of memory that are free.
        have: u64,
    },
    /// The values of some fields are rounded, and this was not accepted.
    #[error(
        "{path:?} is lossy: the values of {} are rounded, with a relative error of up to \
         {relative_error:e}; restart from another checkpoint, or accept that: --allow-lossy, in a \
         program Checkpoint::restart_lossy",
        .fields.join(", ")
    )]
    Lossy {
        /// The file.
        path: PathBuf,
        /// The names of the fields.
        fields: Vec<String>,
        /// The largest bound of the relative error of a field.
        relative_error: f64,
    },
    /// The folder has no checkpoint of this step.
    #[error("there is no checkpoint of step {step} in {dir:?}; there are {}", Steps(.have))]
    NoStep {
        /// The folder.
        dir: PathBuf,
        /// The step that was requested.
        step: u64,
        /// The steps of the checkpoints in the folder.
        have: Vec<u64>,
    },
    /// The folder has no checkpoint.
    #[error("there is no checkpoint in {0:?}")]
    NoneFound(PathBuf),
    /// The folder has checkpoints of several regions, and none was named.
    #[error(
        "{dir:?} holds checkpoints of several regions ({}); name one of them: --name NAME, in a \
         program restart_named or restore_named",
        .names.join(", ")
    )]
    SeveralNames {
        /// The folder.
        dir: PathBuf,
        /// The names of the regions.
        names: Vec<String>,
    },
    /// There are checkpoints, but none of the region that was named.
    #[error(
        "there is no checkpoint of region {name:?} in {place:?}; there are those of {}",
        .have.join(", ")
    )]
    NoName {
        /// The folder, or the file.
        place: PathBuf,
        /// The name that was requested.
        name: String,
        /// The names of the regions that have checkpoints there.
        have: Vec<String>,
    },
    /// The folder has checkpoints, but none can be used. Names each file and its error.
    #[error("none of the checkpoints in {0:?} can be used: {why}", why = Failures(.1))]
    NoneUsable(PathBuf, Vec<(PathBuf, ReadError)>),
    /// A list of checkpoints could not be decoded.
    #[error("{path:?} is not a list of checkpoints: {source}; delete it, or name a checkpoint")]
    Series {
        /// The list.
        path: PathBuf,
        /// The error of the decoder.
        source: serde_json::Error,
    },
    /// A list of checkpoints names a file that does not lie beside it.
    #[error(
        "{path:?} lists {name:?}, which is not the name of a file in its folder; delete the list, \
         or name a checkpoint"
    )]
    Elsewhere {
        /// The list.
        path: PathBuf,
        /// The name in the list.
        name: String,
    },
}

impl ReadError {
    /// Returns a function that turns an error of the system into an error of reading `path`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| ReadError::Io { path, source }
    }
}

/// Shows the errors of several files.
struct Failures<'a>(&'a [(PathBuf, ReadError)]);

impl fmt::Display for Failures<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (_, error) in self.0 {
            write!(f, "{separator}{error}")?;
            separator = "; ";
        }
        Ok(())
    }
}

/// Shows the steps of checkpoints, or "none".
struct Steps<'a>(&'a [u64]);

impl fmt::Display for Steps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => write!(f, "none"),
            all => write!(f, "{all:?}"),
        }
    }
}
