//! The errors of a producer, one enum for each operation.

use std::io;
use std::path::PathBuf;
use tcasm_core::field::{ArrayError, DType, FieldError, MeshDescError, TableError};
use tcasm_core::format::index::IndexError;
use tcasm_core::place::BadName;
use tcasm_core::store::{HandOverError, StoreError};
use tcasm_core::sys::mem::MapError;
use tcasm_core::sys::owner;
use tcasm_core::sys::reserved::ReservedPages;
use tcasm_core::track::{ChooseError, TrackError, TrackerKind};
use thiserror::Error;

/// The largest number that the first version can have. The numbers that follow cannot run out
/// within the life of a run.
pub(crate) const LAST_FIRST: u64 = u64::MAX >> 2;

/// Why a region could not be created.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The name of the region is not valid.
    #[error(transparent)]
    Name(#[from] BadName),
    /// No capacity was given.
    #[error(
        "the region needs a capacity: give the bytes of all its fields and buffers with capacity()"
    )]
    NoCapacity,
    /// The capacity is larger than the addresses of this machine, or no address is free.
    #[error("a capacity of {capacity} bytes is beyond the addresses of this machine")]
    TooLarge {
        /// Bytes that were asked for.
        capacity: usize,
    },
    /// The base address is 0 or not at a page.
    #[error("base address {base:#x} is not a multiple of the page size {page_size}")]
    Base {
        /// Address that was asked for.
        base: usize,
        /// Bytes of a page.
        page_size: usize,
    },
    /// The history is as long as the most versions that may be alive.
    #[error(
        "{history} versions of history do not fit in {versions} versions; allow more versions or \
         keep fewer"
    )]
    History {
        /// Versions to keep besides the newest.
        history: usize,
        /// Most versions alive at once.
        versions: usize,
    },
    /// The first version cannot have this number.
    #[error(
        "the first version cannot have number {version}; numbers are 1 to {}",
        LAST_FIRST
    )]
    FirstVersion {
        /// Number that was asked for.
        version: u64,
    },
    /// A living process owns the name.
    #[error(
        "region {name:?} is in use by {}; choose another name, or end that process",
        owner::text(*pid)
    )]
    InUse {
        /// Name of the region.
        name: String,
        /// The owner's process id, 0 or less if it cannot be seen from here.
        pid: i32,
    },
    /// The folder of the sockets cannot be opened or locked.
    #[error(
        "cannot use the folder {path:?} for sockets: {source}; set TCASM_RUNTIME_DIR to a folder \
         of yours"
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The lock file of the name cannot be locked.
    #[error(
        "cannot lock the name with {path:?}: {source}; set TCASM_RUNTIME_DIR to a folder of \
         yours, on a file system of this machine"
    )]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The socket cannot be created.
    #[error("cannot listen at {path:?}: {source}")]
    Listen {
        /// The socket.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The addresses of the region are taken.
    #[error("cannot reserve the region's addresses: {0}")]
    Address(#[from] MapError),
    /// The tracker that was asked for does not work here.
    #[error(transparent)]
    Tracker(#[from] ChooseError),
    /// The tracker failed to start.
    #[error(
        "cannot start tracking writes: {0}; set TCASM_TRACKER to another tracker, `tcasm doctor` \
         says which work"
    )]
    Track(#[from] TrackError),
    /// The index or the planes could not be created.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The read-only descriptors for observers could not be opened.
    #[error(
        "cannot open the descriptors that observers get: {0}; /proc must be mounted, and the \
         limit on descriptors (ulimit -n) high enough"
    )]
    Share(io::Error),
    /// A thread could not be started.
    #[error("cannot start the threads that serve observers and copy pages: {0}")]
    Thread(io::Error),
    /// `TCASM_CAPTURE` has an unknown value.
    #[error(
        "TCASM_CAPTURE={0:?} is not a capture mode; set it to auto, inline or deferred, or unset it"
    )]
    UnknownCapture(String),
    /// `TCASM_SHARED_BACKING` has an unknown value.
    #[error("TCASM_SHARED_BACKING={0:?} is not valid; set it to 0 or 1, or unset it")]
    UnknownSharing(String),
    /// `TCASM_HUGE_PAGES` has an unknown value.
    #[error("TCASM_HUGE_PAGES={0:?} is not valid; set it to 0, 1 or reserved, or unset it")]
    UnknownHugePages(String),
    /// Reserved huge pages were asked for, but the machine has too few of them.
    #[error(
        "cannot map {needed} reserved huge pages of 2 MiB: {source}; {}. An administrator \
         reserves more in /proc/sys/vm/nr_hugepages; HugePages::Transparent needs none",
        reserved_text(*found)
    )]
    ReservedPages {
        /// Huge pages that the region needs.
        needed: u64,
        /// The pages of the machine, or `None` if the kernel has none of this size.
        found: Option<ReservedPages>,
        /// The error of the kernel.
        source: io::Error,
    },
    /// Reserved huge pages were asked for together with a tracker that cannot track them.
    #[error(
        "reserved huge pages can be tracked by compare, not by {kind}, which was asked for; ask \
         for compare or for no tracker, or use HugePages::Transparent"
    )]
    ReservedTracker {
        /// Tracker that was asked for.
        kind: TrackerKind,
    },
    /// Deferred capture was asked for, but does not work here.
    #[error(
        "deferred capture was asked for, but does not work here: {reason}. Ask for \
         CaptureMode::Auto to have it where it works"
    )]
    NoDeferredCapture {
        /// Why it does not work.
        reason: String,
    },
}

/// Says how many reserved huge pages there are.
fn reserved_text(found: Option<ReservedPages>) -> String {
    found.map_or_else(
        || "this kernel has none of this size".to_owned(),
        |pages| pages.to_string(),
    )
}

/// Why a field or buffer could not be added or bound.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DefineError {
    /// The description of the field is not valid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The region has a field of this name.
    #[error("field {0:?} exists already; field names are unique in a region")]
    Twice(String),
    /// A mesh, or a field on it, cannot be used.
    #[error(transparent)]
    Mesh(#[from] MeshDescError),
    /// A field was put on a named mesh, and got a uniform mesh of its own.
    #[error(
        "field {field:?} is on mesh {mesh:?}, and has an origin and a spacing of its own; use \
         either on() or mesh()"
    )]
    TwoMeshes {
        /// Name of the field.
        field: String,
        /// Name of the mesh that it is on.
        mesh: String,
    },
    /// The length of a field that is not variable cannot be set.
    #[error(
        "field {field:?} has the fixed length {len}, so it cannot get {asked}; declare it with \
         variable()"
    )]
    FixedLength {
        /// Name of the field.
        field: String,
        /// Length of the field.
        len: usize,
        /// Length that was asked for.
        asked: usize,
    },
    /// The number of points of a uniform mesh cannot be set.
    #[error(
        "mesh {mesh:?} is uniform, so its points are fixed; add a mesh with the points that are \
         needed"
    )]
    FixedMesh {
        /// Name of the mesh.
        mesh: String,
    },
    /// The length is more than a field has room for.
    #[error(
        "field {field:?} cannot have the length {len}: it was declared with room for {capacity}; \
         declare it with a larger shape"
    )]
    Length {
        /// Name of the field.
        field: String,
        /// Length that was asked for, or that follows from it.
        len: usize,
        /// Largest length.
        capacity: usize,
    },
    /// The region has no mesh of this name.
    #[error("there is no mesh {name:?}; there are {meshes:?}")]
    NoMesh {
        /// Name that was asked for.
        name: String,
        /// Names of the meshes of the region.
        meshes: Vec<String>,
    },
    /// The region has too little room.
    #[error(
        "{what} needs {needed} bytes, but {free} of the region's {capacity} are free; create it \
         with a larger capacity()"
    )]
    Capacity {
        /// Name of the field or buffer.
        what: String,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes of the region.
        capacity: u64,
    },
    /// The shape of a vector has no axis for its components.
    #[error(
        "field {name:?} was marked as a vector, but shape {shape:?} has no axis for components"
    )]
    NoComponents {
        /// Name of the field.
        name: String,
        /// Shape of the field.
        shape: Vec<usize>,
    },
    /// The buffer has another type or shape than the field.
    #[error(
        "buffer and field {field:?} differ in {what}; make buffers for a field with buffer_like()"
    )]
    OtherShape {
        /// Name of the field.
        field: String,
        /// The property in which they differ.
        what: &'static str,
    },
    /// A scratch buffer cannot be bound.
    #[error(
        "a scratch buffer cannot be bound to field {field:?}: it is not tracked; make it with \
         buffer_like()"
    )]
    Scratch {
        /// Name of the field.
        field: String,
    },
    /// The buffer is bound to another field.
    #[error("this buffer is bound to field {field:?} already")]
    Bound {
        /// Name of that field.
        field: String,
    },
    /// The alignment of the structure is not valid, or is larger than a page.
    #[error("{name:?} needs an alignment of {align} bytes; fields are aligned to {page_size}")]
    Alignment {
        /// Name of the structures.
        name: String,
        /// Alignment that they need.
        align: usize,
        /// Bytes of a page.
        page_size: usize,
    },
    /// The offset of a described field is not at a page.
    #[error(
        "field {name:?} is at offset {offset}, which is not a multiple of the page size {page_size}"
    )]
    Unaligned {
        /// Name of the field.
        name: String,
        /// Offset in the description.
        offset: u64,
        /// Bytes of a page.
        page_size: u64,
    },
    /// The offset of a described field was handed out already.
    #[error(
        "field {name:?} is at offset {offset}, but the region is in use up to {used}; define \
         fields in ascending order of offsets, before others are added"
    )]
    Taken {
        /// Name of the field.
        name: String,
        /// Offset in the description.
        offset: u64,
        /// End of what was handed out.
        used: u64,
    },
    /// The region has no field of this name.
    #[error("there is no field {name:?}; there are {fields:?}")]
    NoField {
        /// Name that was asked for.
        name: String,
        /// Names of the fields of the region.
        fields: Vec<String>,
    },
    /// The field holds another element type.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The field has another number of dimensions.
    #[error(
        "field {name:?} has {} dimensions (shape {shape:?}, components last), not {asked}; ask \
         for as many",
        shape.len()
    )]
    Dimensions {
        /// Name of the field.
        name: String,
        /// Shape of the field, components last.
        shape: Vec<usize>,
        /// Dimensions that were asked for.
        asked: usize,
    },
    /// The field is an array, not raw structures.
    #[error("field {name:?} is an array of {dtype}, not raw structures; ask for it with handle()")]
    NotRaw {
        /// Name of the field.
        name: String,
        /// Type of its elements.
        dtype: DType,
    },
    /// The field holds structures of another size or alignment.
    #[error("field {name:?} holds structures of {stored}, not of {asked}")]
    OtherStructure {
        /// Name of the field.
        name: String,
        /// The structures of the field.
        stored: Structure,
        /// The structures that were asked for.
        asked: Structure,
    },
    /// The field is handed over, so its handle cannot be asked for by name.
    #[error("field {name:?} is handed over: use the handle that handed_over().add() returned")]
    HandedOver {
        /// Name of the field.
        name: String,
    },
    /// The handle belongs to another producer.
    #[error("the handle belongs to another producer")]
    Foreign,
    /// The region is closed.
    #[error("the region is closed")]
    Closed,
    /// This process is a forked child of the producer.
    #[error(
        "this process is a fork of the producer: the region belongs to the parent; create another \
         one here"
    )]
    Forked,
    /// The field table cannot be encoded.
    #[error("the table of fields is too large: {0}")]
    Table(#[from] TableError),
    /// The encoded field table is too large.
    #[error(
        "the table of fields takes {bytes} bytes of at most {limit}; use fewer fields or shorter \
         attributes"
    )]
    TableSize {
        /// Bytes of the table.
        bytes: usize,
        /// Most bytes of a table.
        limit: usize,
    },
    /// The tracker could not map live memory.
    #[error("cannot map live memory: {0}")]
    Track(#[from] TrackError),
    /// Live memory could not be mapped.
    #[error("cannot map live memory: {0}")]
    Map(#[from] MapError),
    /// The buffer could not be made a handed-over one.
    #[error(transparent)]
    HandOver(#[from] HandOverError),
}

/// The size and alignment of a raw structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Bytes of one structure.
    pub size: usize,
    /// Alignment of its address in bytes.
    pub align: usize,
}

impl std::fmt::Display for Structure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes aligned to {}", self.size, self.align)
    }
}

/// Why memory could not be viewed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// One call asked for the same buffer twice.
    #[error(
        "the same buffer was asked for twice at once; each view must be the only one of its memory"
    )]
    Twice,
    /// The handle belongs to another producer.
    #[error("the handle belongs to another producer")]
    Foreign,
    /// This process is a forked child of the producer.
    #[error("this process is a fork of the producer: the region belongs to the parent")]
    Forked,
    /// The buffer was handed over, and its next rewriting has not begun.
    #[error(
        "this buffer was handed over to a version, and can only be read until rewrite() begins \
         its next rewriting"
    )]
    Frozen,
    /// The region has no field of this name.
    #[error("there is no field {name:?}")]
    NoField {
        /// Name that was asked for.
        name: String,
    },
    /// The buffer could not get other pages.
    #[error("cannot map other pages for a rewriting: {0}; the buffer is as it was")]
    Rewrite(io::Error),
    /// The field cannot be viewed as such an array.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// Why `publish` failed. (A version that is skipped is no failure: see [`crate::Receipt`].)
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The region is closed.
    #[error("the region is closed: nothing can be published after close()")]
    Closed,
    /// This process is a forked child of the producer.
    #[error("this process is a fork of the producer: the region belongs to the parent")]
    Forked,
    /// The field table could not be encoded.
    #[error(transparent)]
    Table(#[from] DefineError),
    /// The index could not be written.
    #[error("the index cannot be written: {0}")]
    Index(#[from] IndexError),
}

/// Why the fields could not be rolled back to a version. Nothing has changed: versions, bindings
/// and the bytes of all fields are as they were.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RollbackError {
    /// The region is closed.
    #[error("the region is closed: nothing can be rolled back after close()")]
    Closed,
    /// This process is a forked child of the producer.
    #[error("this process is a fork of the producer: the region belongs to the parent")]
    Forked,
    /// The version was not published yet.
    #[error(
        "version {version} was not published yet{}; roll back to one that was",
        newest.map_or(String::new(), |n| format!(": the newest is {n}"))
    )]
    NotYet {
        /// Number that was asked for.
        version: u64,
        /// Number of the newest version.
        newest: Option<u64>,
    },
    /// The version was reclaimed.
    #[error(
        "version {version} is not there any more, of {available:?} that are; keep more with \
         history(), or let an observer hold it"
    )]
    Gone {
        /// Number that was asked for.
        version: u64,
        /// Numbers of the versions that exist.
        available: Vec<u64>,
    },
    /// Fields were added after the version.
    #[error(
        "version {version} has no field {fields:?}: fields that were added after it cannot be \
         rolled back to it; choose a newer version"
    )]
    NewFields {
        /// Number that was asked for.
        version: u64,
        /// Names of the fields that it lacks.
        fields: Vec<String>,
    },
    /// A field has another type or shape than in the version.
    #[error("field {field:?} differs from what it is in version {version} in its {what}")]
    Differs {
        /// Number that was asked for.
        version: u64,
        /// Name of the field.
        field: String,
        /// The property that differs.
        what: &'static str,
    },
    /// A mesh was added after the version, and its fields had other lengths then.
    #[error(
        "the lengths of version {version} do not fit a mesh that was added after it: {source}; \
         choose a newer version"
    )]
    Mesh {
        /// Number that was asked for.
        version: u64,
        /// The reason.
        source: MeshDescError,
    },
    /// Live memory of a field cannot be read.
    #[error(
        "pages of field {field:?} cannot be read: the program has unmapped or protected them; map \
         them again first"
    )]
    Unmapped {
        /// Name of the field.
        field: String,
    },
    /// Handed-over buffers could not get other pages.
    #[error(
        "cannot map other pages for the handed-over fields {fields:?}: {source}; they are as they \
         were"
    )]
    Rewrite {
        /// Names of the fields.
        fields: Vec<String>,
        /// The error of the system.
        source: io::Error,
    },
    /// The index could not be read.
    #[error("the index cannot be read: {0}")]
    Index(#[from] IndexError),
}
