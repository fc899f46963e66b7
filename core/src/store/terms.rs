//! What the store is told, and what it answers.

use crate::capture::{Gate, Sweep};
use crate::index::IndexError;
use crate::layout::LayoutError;
use crate::pageset::PageSet;
use crate::planes::PlaneError;
use crate::sys::mem::MapError;
use std::io;
use std::sync::Arc;

/// The bounds of what versions may hold (I7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most live versions, the newest included.
    pub versions: usize,
    /// Unpinned versions that are kept besides the newest.
    pub history: usize,
    /// Most bytes of memory in planes.
    pub bytes: u64,
}

/// What is captured, and from where.
pub struct Capture<'a> {
    /// First byte of live memory.
    pub base: *const u8,
    /// The pages to capture.
    pub pages: &'a PageSet,
    /// Of the pages, those of whole chunks that are captured later, behind the gate.
    pub later: &'a PageSet,
    /// Of the pages, those that may be what the newest version has: they are compared, and left out if they are.
    pub maybe: &'a PageSet,
    /// What makes stores to later chunks wait.
    pub gate: Option<&'a Arc<Gate>>,
    /// The handed-over buffers that are captured: those that were rewritten, and are bound to fields.
    pub handed: &'a [usize],
    /// The field table, encoded.
    pub table: &'a [u8],
    /// When (ns of the Unix epoch).
    pub now: u64,
    /// Called when the version has become visible, by whoever made it so: must not wait for anything.
    pub visible: Arc<dyn Fn() + Send + Sync>,
}

impl<'a> Capture<'a> {
    /// The same of other pages.
    pub(super) fn of_pages(&self, pages: &'a PageSet) -> Capture<'a> {
        Capture {
            pages,
            visible: self.visible.clone(),
            ..*self
        }
    }
}

/// A version, when `publish` returns.
#[derive(Debug)]
pub struct Captured {
    /// How far it has come.
    pub progress: Progress,
    /// Pages that were to be compared, and have not changed: they are not part of it.
    pub same: PageSet,
}

/// How far a version has come when `publish` returns.
#[derive(Debug)]
pub enum Progress {
    /// It is visible.
    Visible,
    /// It becomes visible when this has ended.
    Later(Arc<Sweep>),
}

/// Why a version was not published; the changes stay for the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// The capture of the last version goes on.
    Capturing {
        /// That version.
        version: u64,
    },
    /// Every version that the bound allows is pinned.
    Versions {
        /// The bound.
        bound: usize,
    },
    /// The changed pages do not fit under the bound on memory.
    Bytes {
        /// Bytes needed.
        needed: u64,
        /// Bytes held by versions that are pinned or newest.
        held: u64,
        /// The bound.
        bound: u64,
    },
    /// The machine gave no memory.
    NoMemory {
        /// What it said.
        error: String,
    },
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Skip::Capturing { version } => write!(
                f,
                "version {version} is still being captured; publish less often, give the copiers more threads, or have publish wait for them"
            ),
            Skip::Versions { bound } => write!(
                f,
                "all {bound} versions are pinned by observers; allow more versions, or let observers release theirs"
            ),
            Skip::Bytes {
                needed,
                held,
                bound,
            } => write!(
                f,
                "{needed} more bytes do not fit: versions in use hold {held} of at most {bound}; raise the bound, or let observers release versions"
            ),
            Skip::NoMemory { error } => write!(f, "the machine gave no memory: {error}"),
        }
    }
}

/// Why the store could not be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum StoreError {
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Planes(#[from] PlaneError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("cannot map the index: {0}")]
    Map(#[from] MapError),
    #[error("cannot create the index of {bytes} bytes: {source}")]
    Create { bytes: u64, source: io::Error },
}
