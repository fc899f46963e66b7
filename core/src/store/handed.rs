//! The handed-over buffers of a store, and the planes that they use (see `handover.rs`).

use crate::pageset::CHUNK_PAGES;
use std::io;
use std::ops::Range;
use thiserror::Error;

/// The smallest number of versions of a region with handed-over buffers: the newest, the next, and
/// the frames to compute the one after it.
pub const FEWEST_VERSIONS: usize = 3;

/// The handed-over buffers of a region.
#[derive(Debug)]
pub(super) struct HandOvers {
    /// The address of the region's live memory.
    pub(super) base: usize,
    pub(super) buffers: Vec<LiveBuffer>,
    pub(super) checked: bool,
}

/// A buffer whose live memory consists of frames of a plane.
#[derive(Debug)]
pub(super) struct LiveBuffer {
    pub(super) pages: Range<usize>,
    pub(super) plane: usize,
    /// True until the first publish, if the memory of each page comes at the first store to it.
    pub(super) first_touch: bool,
    /// The plane for the next rewriting. There is one exactly while the buffer is frozen.
    pub(super) spare: Option<usize>,
}

/// A plane that becomes live memory of a buffer at its next rewriting.
#[derive(Debug)]
pub(super) struct Spare {
    pub(super) buffer: usize,
    pub(super) pages: Range<usize>,
    pub(super) plane: usize,
}

/// A buffer that was handed to a version which is not visible yet, and the plane of its pages.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) buffer: usize,
    pub(super) plane: usize,
}

/// The reason why a buffer cannot be handed over.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HandOverError {
    /// The region allows too few versions.
    #[error(
        "a region with handed-over buffers needs at least {FEWEST_VERSIONS} versions, this one \
         has {versions}; create it with more versions()"
    )]
    Versions {
        /// The number of versions that the region allows.
        versions: usize,
    },
    /// The buffer does not fit under the bound on memory.
    #[error(
        "a handed-over buffer needs {needed} bytes at once, and {held} of at most {bound} are \
         held already; create the region with more memory()"
    )]
    Bytes {
        /// The bytes of the buffer's pages.
        needed: u64,
        /// The bytes that the planes hold already.
        held: u64,
        /// The bound in bytes.
        bound: u64,
    },
    /// Every plane has busy frames among the buffer's pages.
    #[error("no plane is free for a handed-over buffer")]
    NoPlane,
    /// The system gave no memory for the buffer.
    #[error("the system gave no memory for a handed-over buffer: {0}")]
    NoMemory(io::Error),
    /// The buffer's frames could not be mapped as live memory.
    #[error("cannot map a handed-over buffer: {0}")]
    Map(io::Error),
}

impl Default for HandOvers {
    fn default() -> Self {
        HandOvers {
            base: 0,
            buffers: Vec::new(),
            checked: cfg!(debug_assertions),
        }
    }
}

impl HandOvers {
    /// Returns how many of `bound` versions can be live: one less if there are handed-over buffers,
    /// because a plane is needed for rewriting.
    pub(super) fn most_versions(&self, bound: usize) -> usize {
        bound - usize::from(!self.buffers.is_empty())
    }

    /// Returns true if `chunk` has pages of a handed-over buffer.
    pub(super) fn has(&self, chunk: usize) -> bool {
        let pages = chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES;
        let meets = |b: &LiveBuffer| b.pages.start < pages.end && pages.start < b.pages.end;
        self.buffers.iter().any(meets)
    }

    /// Returns, as a set of bits, the planes in which the frame of `page` is live memory or spare.
    pub(super) fn planes_of(&self, page: usize) -> u64 {
        let mine = self.buffers.iter().find(|b| b.pages.contains(&page));
        mine.map_or(0, |b| 1 << b.plane | b.spare.map_or(0, |s| 1 << s))
    }
}
