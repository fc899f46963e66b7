//! The types of the store's interface: what a capture is given, and what it returns.

use crate::capture::{Gate, Sweep};
use crate::format::index::IndexError;
use crate::format::layout::LayoutError;
use crate::pageset::PageSet;
use crate::planes::PlaneError;
use crate::segments::Segments;
use crate::sys::mem::MapError;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The bounds on versions and on their memory (I7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The largest number of live versions, the newest included.
    pub versions: usize,
    /// The number of unpinned versions that are kept besides the newest.
    pub history: usize,
    /// The largest number of bytes of memory in planes.
    pub bytes: u64,
}

/// The pages that `publish` captures, and where they are.
pub struct Capture<'a> {
    /// Where the pages of live memory are.
    pub live: Arc<Segments>,
    /// The pages to capture.
    pub pages: &'a PageSet,
    /// Those of `pages` that are captured after the call, behind the gate. They make up whole
    /// chunks.
    pub deferred: &'a PageSet,
    /// Those of `pages` that are maybe dirty. They are compared with the newest version, and left
    /// out if they are equal.
    pub maybe: &'a PageSet,
    /// The gate that makes stores to deferred chunks wait.
    pub gate: Option<&'a Arc<Gate>>,
    /// The handed-over buffers that become part of the version: those that were rewritten and are
    /// bound to fields.
    pub handed: &'a [usize],
    /// Pages that belong to no field any more. They are zeros in the version, without memory.
    pub vacated: &'a [Range<usize>],
    /// Called with the pages that were copied, before the version can become visible. An error
    /// says that some of them may not be live memory any more.
    pub still_there: &'a dyn Fn(&PageSet) -> Result<(), String>,
    /// The number of observers for which chunks may be assembled. 0: no chunk is assembled, so the
    /// version is visible when the call returns, unless chunks are deferred.
    pub observers: usize,
    /// The encoded field table.
    pub table: &'a [u8],
    /// The time of publication, in nanoseconds of the Unix epoch.
    pub now: u64,
    /// Called once the version is visible, by the thread that made it visible. Must not wait for
    /// anything.
    pub visible: Arc<dyn Fn() + Send + Sync>,
}

impl<'a> Capture<'a> {
    /// Returns the same capture, but of other pages.
    pub(super) fn of_pages(&self, pages: &'a PageSet) -> Capture<'a> {
        Capture {
            pages,
            live: self.live.clone(),
            visible: self.visible.clone(),
            ..*self
        }
    }

    /// Returns the number of pages that change at most: those to capture and those that become
    /// zeros.
    pub(super) fn changes(&self) -> usize {
        self.pages.len()
            + self
                .vacated
                .iter()
                .map(ExactSizeIterator::len)
                .sum::<usize>()
    }

    /// Returns the pages that belong to no field any more, as a set.
    pub(super) fn vacated_pages(&self) -> PageSet {
        let mut pages = PageSet::new(self.pages.capacity());
        let runs = self.vacated.iter();
        runs.for_each(|run| pages.insert_range(run.clone()));
        pages
    }
}

/// The state of a version when `publish` returns.
#[derive(Debug)]
pub struct Captured {
    /// Tells if the version is visible already.
    pub visibility: Visibility,
    /// The pages that were compared and found unchanged. They are not part of the version's
    /// changes.
    pub same: PageSet,
}

/// The visibility of a version when `publish` returns.
#[derive(Debug)]
pub enum Visibility {
    /// The version is visible.
    Immediate,
    /// The version becomes visible when this sweep has saved all its pieces.
    Deferred(Arc<Sweep>),
}

/// The reason why a version was not published. Its changes go into the next version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The capture of the last version is still running.
    Capturing {
        /// The number of that version.
        version: u64,
    },
    /// As many versions as the bound allows are pinned.
    Versions {
        /// The bound on live versions.
        bound: usize,
    },
    /// The changed pages do not fit under the bound on memory.
    Bytes {
        /// The bytes of fresh memory that are needed.
        needed: u64,
        /// The bytes that the planes still hold after the memory of free frames was returned.
        held: u64,
        /// The bound in bytes.
        bound: u64,
    },
    /// The system gave no memory, or a limit of the control group or the machine forbids to take
    /// it.
    NoMemory {
        /// The error or the refusal, as text.
        error: String,
    },
}

/// Why nothing was published. Matches are exhaustive: the producer must handle every reason.
#[derive(Debug, thiserror::Error)]
pub enum NotPublished {
    /// The bounds or the system left no room, or the last version is still being captured.
    #[error("{0}")]
    Skipped(Skip),
    /// The index cannot be read or written.
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl From<Skip> for NotPublished {
    fn from(reason: Skip) -> Self {
        NotPublished::Skipped(reason)
    }
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Skip::Capturing { version } => write!(
                f,
                "version {version} is still being captured; publish less often, give the copiers \
                 more threads, or have publish wait for them"
            ),
            Skip::Versions { bound } => write!(
                f,
                "all {bound} versions are pinned by observers; allow more versions, or let \
                 observers release theirs"
            ),
            Skip::Bytes {
                needed,
                held,
                bound,
            } => write!(
                f,
                "{needed} more bytes do not fit: versions in use hold {held} of at most {bound}; \
                 raise the bound, or let observers release versions"
            ),
            Skip::NoMemory { error } => write!(f, "the system gave no memory: {error}"),
        }
    }
}

/// The reason why a store could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The sizes that were asked for make no valid index layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The planes could not be created.
    #[error(transparent)]
    Planes(#[from] PlaneError),
    /// The index could not be written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The index could not be mapped.
    #[error("cannot map the index: {0}")]
    Map(#[from] MapError),
    /// The shared memory object of the index could not be created.
    #[error("cannot create the index of {bytes} bytes: {source}")]
    Create {
        /// The size of the index.
        bytes: u64,
        /// The error of the system.
        source: io::Error,
    },
}
