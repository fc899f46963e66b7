//! The reasons why regions cannot be created.

use std::io;
use std::path::PathBuf;
use tcasm_core::group::BadMember;
use tcasm_core::place::BadName;
use tcasm_core::store::{RESERVED_VERSIONS, StoreError};
use tcasm_core::sys::mem::MapError;
use tcasm_core::sys::owner;
use tcasm_core::sys::reserved::ReservedPages;
use tcasm_core::track::{ChooseError, TrackError, TrackerKind};
use thiserror::Error;

/// The largest number that the first version can have. The numbers that follow cannot run out
/// within the life of a run.
pub(crate) const LAST_FIRST: u64 = u64::MAX >> 2;

/// The reason why a region could not be created.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// The name of the region is not valid.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The region cannot be such a member of a group.
    #[error(transparent)]
    Member(#[from] BadMember),
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
    /// The history and the reserve for appointed steps do not fit in the versions.
    #[error(
        "{history} versions of history, the newest one and {RESERVED_VERSIONS} for appointed steps \
         do not fit in {versions} versions; allow more versions or keep fewer"
    )]
    Reserve {
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
