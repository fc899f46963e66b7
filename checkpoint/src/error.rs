//! The errors of writing and of reading checkpoints.

use crate::files::directory;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use tcasm_core::field::{DType, TableError};
use thiserror::Error;

/// Why a checkpoint could not be written. Older checkpoints are always untouched.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The folder does not exist.
    #[error("the directory {0:?} does not exist; create it, or choose another")]
    NoDirectory(PathBuf),
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
        /// What was found instead.
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

/// Why a checkpoint could not be read.
#[derive(Debug, Error)]
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
        /// What is wrong.
        why: String,
    },
    /// The values of a field are damaged.
    #[error("field {field:?} in {path:?} is damaged ({why}); use another checkpoint")]
    DamagedField {
        /// The file.
        path: PathBuf,
        /// The name of the field, or of the dataset.
        field: String,
        /// What is wrong.
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
    #[error("field {field:?} holds raw structures ({type_name}), not an array; read its bytes")]
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
        /// What is wrong with it.
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
    /// The folder has checkpoints of several runs, and no file was named.
    #[error(
        "{dir:?} holds checkpoints of several runs ({}); name the .series file of one, or a file",
        .names.join(", ")
    )]
    SeveralNames {
        /// The folder.
        dir: PathBuf,
        /// The names of the runs.
        names: Vec<String>,
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

impl WriteError {
    /// Returns true if a later attempt may succeed, for example after a folder is mounted again or
    /// space is freed on a disk.
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
                | Copy(_)
        )
    }
}

impl ReadError {
    /// Returns a function that turns an error of the system into an error of reading `path`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| ReadError::Io { path, source }
    }
}

/// An error while a file is written. It does not yet name the path.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error of the system.
    Io(io::Error),
    /// An error of HDF5.
    Hdf5(hdf5::Error),
    /// An error that names its path already.
    Write(WriteError),
}

impl From<io::Error> for Fault {
    fn from(e: io::Error) -> Self {
        Fault::Io(e)
    }
}
impl From<hdf5::Error> for Fault {
    fn from(e: hdf5::Error) -> Self {
        Fault::Hdf5(e)
    }
}
impl From<WriteError> for Fault {
    fn from(e: WriteError) -> Self {
        Fault::Write(e)
    }
}

impl Fault {
    /// Returns the error to report for this fault while writing `path`.
    pub(crate) fn at(self, path: &Path) -> WriteError {
        match self {
            Fault::Io(source) => io_error(path, source),
            Fault::Write(error) => error,
            Fault::Hdf5(error) => match cause(&error) {
                Some(source) => io_error(path, source),
                None => WriteError::Hdf5 {
                    path: path.to_owned(),
                    message: error.to_string(),
                },
            },
        }
    }
}

/// Returns the variant of [`WriteError`] for an error of the system.
fn io_error(path: &Path, source: io::Error) -> WriteError {
    use io::ErrorKind::*;
    let path = path.to_owned();
    match source.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => WriteError::NoSpace { path, source },
        PermissionDenied | ReadOnlyFilesystem => WriteError::NotPermitted { path, source },
        NotFound if !directory(&path).is_dir() => {
            WriteError::NoDirectory(directory(&path).to_owned())
        }
        _ => WriteError::Io { path, source },
    }
}

/// Returns the error of the system that caused an error of HDF5. HDF5 tells it only in the text of
/// an inner frame of its error stack.
fn cause(error: &hdf5::Error) -> Option<io::Error> {
    let stack = error.stack()?;
    let number = |text: &str| {
        let digits = text.split("errno = ").nth(1)?;
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        digits[..end].parse().ok()
    };
    stack
        .iter()
        .find_map(|frame| number(frame.desc()))
        .map(io::Error::from_raw_os_error)
}
