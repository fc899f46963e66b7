//! The errors of an observer, one enum for each operation.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;
use tcasm_core::field::ArrayError;
use tcasm_core::format::index::IndexError;
use tcasm_core::format::lease::LeaseError;
use tcasm_core::place::BadName;
use tcasm_core::sys::mem::MapError;
use thiserror::Error;

/// Why attaching failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The name of the region is not valid.
    #[error(transparent)]
    Name(#[from] BadName),
    /// No process listens for the region.
    #[error(
        "there is no region {name:?}: nothing listens at {path:?}; start the producer, or set \
         TCASM_RUNTIME_DIR to the folder that it uses"
    )]
    NotFound {
        /// Name of the region.
        name: String,
        /// The socket.
        path: PathBuf,
    },
    /// The producer has died, and its socket is left.
    #[error(
        "the producer of {name:?} is dead: its socket {path:?} is stale; start the producer \
         again, it replaces the socket"
    )]
    Dead {
        /// Name of the region.
        name: String,
        /// The socket.
        path: PathBuf,
    },
    /// The producer does not allow this user to attach.
    #[error("this user may not attach to {name:?}; the producer decides who may (Builder::allow)")]
    NotAllowed {
        /// Name of the region.
        name: String,
    },
    /// The producer belongs to another user, who is not trusted by default.
    #[error(
        "the producer of {name:?} belongs to user {uid}; set TCASM_RUNTIME_DIR to its folder if \
         you trust that user"
    )]
    OtherUser {
        /// Name of the region.
        name: String,
        /// The producer's user.
        uid: u32,
    },
    /// The producer uses another version of the layout.
    #[error(
        "the producer of {name:?} uses layout version {theirs}, this program {ours}; build both \
         from the same release"
    )]
    OtherLayout {
        /// Name of the region.
        name: String,
        /// The producer's layout version.
        theirs: u64,
        /// The layout version of this program.
        ours: u64,
    },
    /// The most observers that the producer allows are attached.
    #[error(
        "as many observers as {name:?} allows are attached; end one, or raise the producer's \
         max_observers"
    )]
    Full {
        /// Name of the region.
        name: String,
    },
    /// The producer could not create a lease.
    #[error(
        "the producer of {name:?} could not make a lease: it is out of memory or descriptors; try \
         again later"
    )]
    Failed {
        /// Name of the region.
        name: String,
    },
    /// The producer did not answer in time.
    #[error("the producer of {name:?} did not answer within {timeout:?}; it may be stopped")]
    NoAnswer {
        /// Name of the region.
        name: String,
        /// How long this waited.
        timeout: Duration,
    },
    /// The answer is not that of a producer.
    #[error("the process that answered for {name:?} is not a producer of TCASM: {what}")]
    BadAnswer {
        /// Name of the region.
        name: String,
        /// The defect of the answer.
        what: String,
    },
    /// The producer closed the connection before it answered.
    #[error("the producer of {name:?} ended while attaching")]
    Ended {
        /// Name of the region.
        name: String,
    },
    /// This process cannot open more descriptors.
    #[error(
        "this process has no file descriptors left (needs {needed}); raise its limit (ulimit -n) \
         or close some"
    )]
    NoDescriptors {
        /// Descriptors that attaching may need.
        needed: usize,
    },
    /// The index or the lease could not be mapped.
    #[error("cannot map what the producer shares: {0}")]
    Map(#[from] MapError),
    /// The index is not valid.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The lease is not valid.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// A system call failed.
    #[error("cannot connect to {path:?}: {source}")]
    Os {
        /// The socket.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Why there is no version.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ObserveError {
    /// There is no version yet, or none that is newer.
    #[error("there is no (newer) version yet")]
    NotReady,
    /// The producer has closed the region.
    #[error("end of stream: the producer has closed the region")]
    EndOfStream,
    /// The producer died.
    #[error("the producer is lost: it died without closing the region")]
    ProducerLost,
    /// The producer has revoked the lease.
    #[error("the producer has revoked this observer's lease; attach again")]
    Revoked,
    /// The version does not exist (any more).
    #[error("version {version} is not there (any more); there are {available:?}")]
    Gone {
        /// Number that was asked for.
        version: u64,
        /// Numbers of the versions that exist.
        available: Vec<u64>,
    },
    /// All pin words of the lease are in use.
    #[error("this observer holds {pins} versions, which is the most at once; drop some")]
    TooManyPins {
        /// Pin words of a lease.
        pins: usize,
    },
    /// This process is a forked child of the observer.
    #[error("this process is a fork of the observer; attach anew here")]
    Forked,
    /// The descriptors of the region could not be duplicated.
    #[error("the descriptors of the region cannot be duplicated: {0}; raise the limit (ulimit -n)")]
    Descriptors(io::Error),
    /// The index could not be read.
    #[error(transparent)]
    Index(IndexError),
}

/// Why a version could not be mapped, or its content not be viewed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The version has no values of the field.
    #[error(
        "field {name:?} is lost: its memory in the producer was unmapped, moved or replaced \
         without release(); an older version, if one is held, has its values"
    )]
    Lost {
        /// Name of the field.
        name: String,
    },
    /// The version has no field of this name.
    #[error("there is no field {name:?}; the version has {available:?}")]
    NoField {
        /// Name that was asked for.
        name: String,
        /// Names of the fields of the version.
        available: Vec<String>,
    },
    /// The field cannot be viewed as such an array.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The field holds other structures than were asked for.
    #[error("{name:?} holds {stored}, not {asked} of {size} bytes; use the producer's own type")]
    RawType {
        /// Name of the field.
        name: String,
        /// The type that the field holds.
        stored: String,
        /// Type that was asked for.
        asked: String,
        /// Bytes of that type.
        size: usize,
    },
    /// The address is outside the region, or is not aligned for the type.
    #[error("address {address:#x} is not that of a {asked} in the region {base:#x}..{end:#x}")]
    Pointer {
        /// Address that was asked for.
        address: u64,
        /// Type that was asked for.
        asked: String,
        /// First address of the region.
        base: u64,
        /// End of the region.
        end: u64,
    },
    /// The producer's address is taken in this process.
    #[error(
        "{0}. One version at a time can be mapped at the producer's address, and an observer keeps \
         the address for its next view: use that observer, or map elsewhere with view()"
    )]
    Base(MapError),
    /// The version could not be mapped.
    #[error("cannot map the version: {0}")]
    Map(#[from] MapError),
    /// The version needs more mappings than a view may have, however much of it is copied.
    #[error(
        "the view needs {needed} mappings although all scattered chunks would be copied, and it \
         may have {most} of the {limit} mappings of this process; hold fewer views, map less of \
         the version (view_of, view_part), or raise the limit (sysctl vm.max_map_count)"
    )]
    TooManyMappings {
        /// Mappings that the view needs at least.
        needed: usize,
        /// Mappings that the view may have, beside the other views of this process.
        most: usize,
        /// The kernel's limit on mappings of a process.
        limit: usize,
    },
    /// Chunks must be copied for lack of mappings, and there is no memory for the copies.
    #[error(
        "the view has too few mappings, and copying scattered chunks instead needs {bytes} bytes, \
         but only {room} may still be allocated under the limit of {limit} bytes of {of}; hold \
         fewer views, map less of the version (view_of, view_part), or raise that limit"
    )]
    CopyMemory {
        /// Bytes that the copies need.
        bytes: u64,
        /// Bytes that may still be allocated.
        room: u64,
        /// The limit in bytes.
        limit: u64,
        /// The owner of the limit: a control group, or the machine.
        of: String,
    },
    /// Pages of a plane could not be read.
    #[error("cannot read a plane: {0}")]
    Read(#[from] io::Error),
    /// The ranges of indices do not give a part of the field.
    #[error(
        "the ranges {ranges:?} give no part of field {name:?} of shape {shape:?}; give one range \
         for each axis, not empty and inside the axis"
    )]
    SubArray {
        /// Name of the field.
        name: String,
        /// The ranges that were given.
        ranges: Vec<Range<usize>>,
        /// Shape of the field, ghost layers included.
        shape: Vec<usize>,
    },
    /// The view shows a part of the version, which does not have all of these bytes.
    #[error(
        "{what} is not in this view, which shows only a part of the version; ask for it when you \
         make the view (view_of, view_part), or view the whole version"
    )]
    NotShown {
        /// The thing that was asked for, such as a field.
        what: String,
    },
    /// This process is a forked child of the observer.
    #[error("this process is a fork of the observer; attach anew here")]
    Forked,
    /// The description is of a field of another region.
    #[error(
        "field {name:?} ends at byte {end} of a region of {bytes}: it is described for another \
         region"
    )]
    OtherRegion {
        /// Name of the field.
        name: String,
        /// End of the field in the description.
        end: u64,
        /// Bytes of the region.
        bytes: u64,
    },
    /// The index could not be read.
    #[error(transparent)]
    Index(IndexError),
}

/// Why bytes of a version could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The version has no values of the field.
    #[error(
        "field {name:?} is lost: its memory in the producer was unmapped, moved or replaced \
         without release(); an older version, if one is held, has its values"
    )]
    Lost {
        /// Name of the field.
        name: String,
    },
    /// The version has no field of this name.
    #[error("there is no field {name:?}; the version has {available:?}")]
    NoField {
        /// Name that was asked for.
        name: String,
        /// Names of the fields of the version.
        available: Vec<String>,
    },
    /// The range is not in the field.
    #[error("bytes {start}..{end} were asked for, of {bytes}")]
    Range {
        /// First byte that was asked for.
        start: u64,
        /// End of what was asked for.
        end: u64,
        /// Bytes of the field.
        bytes: u64,
    },
    /// This process is a forked child of the observer.
    #[error("this process is a fork of the observer; attach anew here")]
    Forked,
    /// Pages of a plane could not be read.
    #[error("cannot read a plane: {0}")]
    Io(#[from] io::Error),
    /// The index could not be read.
    #[error(transparent)]
    Index(IndexError),
}

/// Converts index errors. A forked child gets the same error, whichever operation notices it.
macro_rules! forked_or_index {
    ($($error:ident),*) => {
        $(impl From<IndexError> for $error {
            fn from(error: IndexError) -> Self {
                match error {
                    IndexError::Forked => $error::Forked,
                    other => $error::Index(other),
                }
            }
        })*
    };
}

forked_or_index!(ObserveError, ViewError, ReadError);

/// Returns the error for an index whose newest version has the number `found`.
pub(crate) fn no_such_version(found: u64) -> IndexError {
    IndexError::Value {
        what: "the number of the newest version",
        found,
        expected: "that of a version".to_owned(),
    }
}
