//! What can go wrong, verb by verb.

use std::io;
use std::path::PathBuf;
use tcasm_core::field::{ArrayError, DType, FieldError, TableError};
use tcasm_core::index::IndexError;
use tcasm_core::place::BadName;
use tcasm_core::store::{HandOverError, StoreError};
use tcasm_core::sys::mem::MapError;
use tcasm_core::sys::owner;
use tcasm_core::track::{ChooseError, TrackError};
use thiserror::Error;

/// Why a region could not be created.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum CreateError {
    #[error(transparent)]
    Name(#[from] BadName),
    #[error(
        "the region needs a capacity: give the bytes of all its fields and buffers with capacity()"
    )]
    NoCapacity,
    #[error("a capacity of {capacity} bytes is beyond the addresses of this machine")]
    TooLarge { capacity: usize },
    #[error("base address {base:#x} is not a multiple of the page size {page_size}")]
    Base { base: usize, page_size: usize },
    #[error(
        "{history} versions of history do not fit in {versions} versions; allow more versions or keep fewer"
    )]
    History { history: usize, versions: usize },
    #[error(
        "the first version cannot have number {version}; numbers are 1 to {}",
        crate::builder::LAST_FIRST
    )]
    FirstVersion { version: u64 },
    #[error("region {name:?} is in use by {}; choose another name, or end that process", owner::text(*pid))]
    InUse { name: String, pid: i32 },
    #[error(
        "cannot use the folder {path:?} for sockets: {source}; set TCASM_RUNTIME_DIR to a folder of yours"
    )]
    Folder { path: PathBuf, source: io::Error },
    #[error(
        "cannot lock the name with {path:?}: {source}; set TCASM_RUNTIME_DIR to a folder of yours, on a file system of this machine"
    )]
    Lock { path: PathBuf, source: io::Error },
    #[error("cannot listen at {path:?}: {source}")]
    Listen { path: PathBuf, source: io::Error },
    #[error("cannot reserve the region's addresses: {0}")]
    Address(#[from] MapError),
    #[error(transparent)]
    Tracker(#[from] ChooseError),
    #[error(
        "cannot start tracking writes: {0}; TCASM_TRACKER chooses another way, `tcasm doctor` says which work"
    )]
    Track(#[from] TrackError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "cannot open what observers get: {0}; /proc must be there, and the limit on descriptors (ulimit -n) high enough"
    )]
    Share(io::Error),
    #[error("cannot start the threads that serve observers and copy pages: {0}")]
    Thread(io::Error),
    #[error("TCASM_CAPTURE={0:?} says nothing; set it to auto, now or later, or unset it")]
    UnknownCapture(String),
    #[error("TCASM_SHARED_BACKING={0:?} says nothing; set it to 0 or 1, or unset it")]
    UnknownSharing(String),
    #[error(
        "capturing after publish was asked for, but cannot be had here: {reason}. Ask for CaptureMode::Auto to have it where it works"
    )]
    NoLaterCapture { reason: String },
}

/// Why a field or buffer could not be added or bound.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum DefineError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("field {0:?} exists already; field names are unique in a region")]
    Twice(String),
    #[error(
        "{what} needs {needed} bytes, but {free} of the region's {capacity} are free; create it with a larger capacity()"
    )]
    Capacity {
        what: String,
        needed: u64,
        free: u64,
        capacity: u64,
    },
    #[error(
        "field {name:?} was marked as a vector, but shape {shape:?} has no axis for components"
    )]
    NoComponents { name: String, shape: Vec<usize> },
    #[error(
        "buffer and field {field:?} differ in {what}; make buffers for a field with buffer_like()"
    )]
    OtherShape { field: String, what: &'static str },
    #[error(
        "a scratch buffer cannot be bound to field {field:?}: it is not tracked; make it with buffer_like()"
    )]
    Scratch { field: String },
    #[error("this buffer is bound to field {field:?} already")]
    Bound { field: String },
    #[error("{name:?} needs an alignment of {align} bytes; fields are aligned to {page_size}")]
    Alignment {
        name: String,
        align: usize,
        page_size: usize,
    },
    #[error(
        "field {name:?} is at offset {offset}, which is not a multiple of the page size {page_size}"
    )]
    Unaligned {
        name: String,
        offset: u64,
        page_size: u64,
    },
    #[error(
        "field {name:?} is at offset {offset}, but the region is in use up to {used}; define fields in ascending order of offsets, before others are added"
    )]
    Taken {
        name: String,
        offset: u64,
        used: u64,
    },
    #[error("there is no field {name:?}; there are {fields:?}")]
    NoField { name: String, fields: Vec<String> },
    #[error(transparent)]
    Array(#[from] ArrayError),
    #[error(
        "field {name:?} has {} dimensions (shape {shape:?}, components last), not {asked}; ask for as many",
        shape.len()
    )]
    Dimensions {
        name: String,
        shape: Vec<usize>,
        asked: usize,
    },
    #[error("field {name:?} is an array of {dtype}, not raw structures; ask for it with handle()")]
    NotRaw { name: String, dtype: DType },
    #[error("field {name:?} holds structures of {stored}, not of {asked}")]
    OtherStructure {
        name: String,
        stored: Structure,
        asked: Structure,
    },
    #[error("field {name:?} is handed over: its handle is what handed_over().add() has returned")]
    HandedOver { name: String },
    #[error("the handle belongs to another producer")]
    Foreign,
    #[error("the region is closed")]
    Closed,
    #[error(
        "this process is a fork of the producer: the region belongs to the parent; create another one here"
    )]
    Forked,
    #[error("the table of fields is too large: {0}")]
    Table(#[from] TableError),
    #[error(
        "the table of fields takes {bytes} bytes of at most {limit}; use fewer fields or shorter attributes"
    )]
    TableSize { bytes: usize, limit: usize },
    #[error("cannot map live memory: {0}")]
    Track(#[from] TrackError),
    #[error("cannot map live memory: {0}")]
    Map(#[from] MapError),
    #[error(transparent)]
    HandOver(#[from] HandOverError),
}

/// What a raw structure takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Bytes of one.
    pub size: usize,
    /// What its address is a multiple of.
    pub align: usize,
}

impl std::fmt::Display for Structure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes aligned to {}", self.size, self.align)
    }
}

/// Why memory could not be viewed.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum ViewError {
    #[error(
        "the same buffer was asked for twice at once; each view must be the only one of its memory"
    )]
    Twice,
    #[error("the handle belongs to another producer")]
    Foreign,
    #[error("this process is a fork of the producer: the region belongs to the parent")]
    Forked,
    #[error(
        "this buffer was handed over to a version, and is only read until rewrite() begins its next rewriting"
    )]
    Frozen,
    #[error("there is no field {name:?}")]
    NoField { name: String },
    #[error("cannot map other pages for a rewriting: {0}; the buffer is as it was")]
    Rewrite(io::Error),
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// Why `publish` failed. (A version that is skipped is no failure: see [`crate::Receipt`].)
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum PublishError {
    #[error("the region is closed: nothing can be published after close()")]
    Closed,
    #[error("this process is a fork of the producer: the region belongs to the parent")]
    Forked,
    #[error(transparent)]
    Table(#[from] DefineError),
    #[error("the index cannot be written: {0}")]
    Index(#[from] IndexError),
}

/// Why a version could not be put back. Nothing has changed: versions, bindings and the bytes of all fields are as they were.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum RollbackError {
    #[error("the region is closed: nothing can be put back after close()")]
    Closed,
    #[error("this process is a fork of the producer: the region belongs to the parent")]
    Forked,
    #[error(
        "version {version} was not published yet{}; roll back to one that was",
        newest.map_or(String::new(), |n| format!(": the newest is {n}"))
    )]
    NotYet { version: u64, newest: Option<u64> },
    #[error(
        "version {version} is not there any more, of {available:?} that are; keep more with history(), or let an observer hold it"
    )]
    Gone { version: u64, available: Vec<u64> },
    #[error(
        "version {version} has no field {fields:?}: what was added after it has nothing to go back to; choose a newer version"
    )]
    NewFields { version: u64, fields: Vec<String> },
    #[error("field {field:?} differs from what it is in version {version} in its {what}")]
    Differs {
        version: u64,
        field: String,
        what: &'static str,
    },
    #[error(
        "pages of field {field:?} cannot be read: the program has unmapped or protected them; map them again first"
    )]
    Unmapped { field: String },
    #[error(
        "cannot map other pages for the handed-over fields {fields:?}: {source}; they are as they were"
    )]
    Rewrite {
        fields: Vec<String>,
        source: io::Error,
    },
    #[error("the index cannot be read: {0}")]
    Index(#[from] IndexError),
}
