//! Why a checkpoint could not be written, and why one could not be read.

use crate::files::directory;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use tcasm_core::field::{DType, TableError};
use thiserror::Error;

/// Why a checkpoint could not be written. Older checkpoints are untouched, whatever it is.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum WriteError {
    #[error("the directory {0:?} does not exist; create it, or choose another")]
    NoDirectory(PathBuf),
    #[error(
        "writing {path:?} is not permitted: {source}; check its owner and that the file system is writable"
    )]
    NotPermitted { path: PathBuf, source: io::Error },
    #[error(
        "no room to write {path:?}: {source}; free space or raise the limit. Older files are untouched"
    )]
    NoSpace { path: PathBuf, source: io::Error },
    #[error("writing {path:?} failed: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("writing {path:?} failed inside HDF5: {message}")]
    Hdf5 { path: PathBuf, message: String },
    #[error(
        "what was written for {path:?} cannot be read back ({why}), and is discarded; check the disk"
    )]
    NotWritten { path: PathBuf, why: String },
    #[error("field {field:?} needs {need} bytes, but the snapshot gave {have}")]
    Bytes {
        field: String,
        need: u64,
        have: usize,
    },
    #[error("the field table cannot be stored: {0}")]
    Table(#[from] TableError),
    #[error(
        "{0:?} is not usable as a name of checkpoints; use letters, digits, '.', '_' and '-', and no leading '.'"
    )]
    Name(String),
    #[error(transparent)]
    Manifest(ReadError),
    #[error(
        "{path:?} is the manifest of another run: of {found}, not of {expected}; choose another folder, or another name"
    )]
    OtherRun {
        path: PathBuf,
        found: String,
        expected: String,
    },
    #[error("{0:?} and {1:?} are the same folder; the slow tier must be another one than the fast")]
    SameFolder(PathBuf, PathBuf),
    #[error(
        "step {step} does not come after step {last}, which is written already; start the checkpointer anew for a simulation that goes back in time"
    )]
    Backwards { step: u64, last: u64 },
    #[error(
        "step {step} comes before step {last}, of which there is a checkpoint already: continue from that, choose another folder or name, or have what is of later steps replaced"
    )]
    Before { step: u64, last: u64 },
    #[error("the copy is not what was copied: {0}")]
    Copy(ReadError),
    #[error("no thread can be started: {0}")]
    Thread(io::Error),
    #[error(
        "another checkpointer writes {name:?} in {dir:?} at this moment; choose another name or directory"
    )]
    Busy { dir: PathBuf, name: String },
    #[error("{0:?} is not usable as a time series: give it a name that ends in .vtkhdf")]
    SeriesName(PathBuf),
    #[error(
        "{path:?} is there already, and is no time series to go on with ({why}); choose another name, or move it away"
    )]
    NotSeries { path: PathBuf, why: String },
    #[error(
        "{path:?} is the time series of region {found:?}, not of {expected:?}; choose another name, or move it away"
    )]
    OtherSeries {
        path: PathBuf,
        found: String,
        expected: String,
    },
    #[error(
        "{rows:?} holds the rows of a time series whose file {path:?} is gone; put that back, or move the folder away"
    )]
    LeftRows { rows: PathBuf, path: PathBuf },
    #[error(
        "step {step} does not come after step {last}, which {path:?} has already: choose another name, or have what is of later steps replaced"
    )]
    Earlier { path: PathBuf, step: u64, last: u64 },
}

/// Why a checkpoint could not be read.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum ReadError {
    #[error("{path:?} cannot be read: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{0:?} is not an HDF5 file, so not a checkpoint")]
    NotHdf5(PathBuf),
    #[error(
        "{0:?} is an HDF5 file, but not a checkpoint of TCASM, or another program has rewritten it since"
    )]
    Foreign(PathBuf),
    #[error("{path:?} is cut short after {have} bytes: it was not copied whole")]
    CutShort { path: PathBuf, have: u64 },
    #[error("{path:?} is damaged ({why}); use another checkpoint")]
    Damaged { path: PathBuf, why: String },
    #[error("field {field:?} in {path:?} is damaged ({why}); use another checkpoint")]
    DamagedField {
        path: PathBuf,
        field: String,
        why: String,
    },
    #[error("{path:?} has format {found}, this program reads up to {known}; use a newer TCASM")]
    TooNew {
        path: PathBuf,
        found: u64,
        known: u64,
    },
    #[error("{path:?} has no field {field:?}; it has {}", .have.join(", "))]
    NoField {
        path: PathBuf,
        field: String,
        have: Vec<String>,
    },
    #[error("field {field:?} has dtype {stored}, not {asked}; ask for {stored}")]
    WrongType {
        field: String,
        stored: DType,
        asked: DType,
    },
    #[error("field {field:?} has shape {stored:?}, not {asked:?}")]
    WrongShape {
        field: String,
        stored: Vec<usize>,
        asked: Vec<usize>,
    },
    #[error("field {field:?} holds raw structures ({type_name}), not an array; read its bytes")]
    NotAnArray { field: String, type_name: String },
    #[error("field {field:?} has {need} bytes, the buffer {have}; pass one of {need} bytes")]
    WrongSize {
        field: String,
        need: u64,
        have: usize,
    },
    #[error("{0:?} is a checkpoint, not a time series")]
    NotSeries(PathBuf),
    #[error("{0:?} is not a manifest of checkpoints; move it away, and it is made anew")]
    NotManifest(PathBuf),
    #[error(
        "{path:?} builds on the checkpoint of step {base} with id {id}, which is not there; use another checkpoint"
    )]
    NoBase {
        path: PathBuf,
        base: u64,
        id: String,
    },
    #[error("{path:?} builds on {base:?}, which cannot be used ({why}); use another checkpoint")]
    BadBase {
        path: PathBuf,
        base: PathBuf,
        why: String,
    },
    #[error(
        "{path:?} is named after step {named}, but holds step {found}; name it after its step, or use another checkpoint"
    )]
    OtherStep {
        path: PathBuf,
        named: u64,
        found: u64,
    },
    #[error(
        "the fields of {path:?} take {need} bytes of memory, of which {have} are free; free memory, or use a machine with more"
    )]
    TooLarge { path: PathBuf, need: u64, have: u64 },
    #[error("there is no checkpoint of step {step} in {dir:?}; there are {}", Steps(.have))]
    NoStep {
        dir: PathBuf,
        step: u64,
        have: Vec<u64>,
    },
    #[error("there is no checkpoint in {0:?}")]
    NoneFound(PathBuf),
    #[error("{dir:?} holds checkpoints of several runs ({}); name the .series file of one, or a file", .names.join(", "))]
    SeveralNames { dir: PathBuf, names: Vec<String> },
    #[error("none of the checkpoints in {0:?} can be used: {why}", why = Failures(.1))]
    NoneUsable(PathBuf, Vec<(PathBuf, ReadError)>),
    #[error("{path:?} is not a list of checkpoints: {source}; delete it, or name a checkpoint")]
    Series {
        path: PathBuf,
        source: serde_json::Error,
    },
}

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
    /// Whether trying again later may help: a folder that is away for a while, a disk that is full.
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
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| ReadError::Io { path, source }
    }
}

/// What can go wrong inside one writing, before the path is known to it.
#[derive(Debug)]
pub(crate) enum Fault {
    Io(io::Error),
    Hdf5(hdf5::Error),
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
    /// The error to show for a fault while writing `path`.
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

/// The system's error behind one of HDF5's, which tells it only in the text of an inner frame.
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
