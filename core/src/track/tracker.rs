//! The interface of all trackers.

use super::kind::TrackerKind;
use crate::pageset::PageSet;
use crate::sys::live::Backing;
use std::io;
use std::ops::Range;

/// The address range of live memory: `pages` pages of `page_size` bytes from address `base`. Of an
/// adopted array, `base` is where the region would begin if it lay around the array, and may wrap.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// First address; a multiple of the page size.
    pub base: usize,
    /// Number of pages.
    pub pages: usize,
    /// Bytes per page.
    pub page_size: usize,
}

impl Span {
    /// Returns the addresses of `pages`.
    pub fn addresses(&self, pages: &Range<usize>) -> Range<usize> {
        let at = |page: usize| self.base.wrapping_add(page * self.page_size);
        at(pages.start)..at(pages.end)
    }

    /// Returns the pages that lie at `addresses`, wholly or in part.
    pub fn pages_at(&self, addresses: &Range<usize>) -> Range<usize> {
        let offset = |address: usize| address.wrapping_sub(self.base);
        let start = offset(addresses.start) / self.page_size;
        start..offset(addresses.end).div_ceil(self.page_size)
    }
}

/// The pages that a harvest found.
#[derive(Clone, Debug)]
pub struct Harvest {
    /// Pages that were written since they were last armed, or probably were.
    pub written: PageSet,
    /// Pages that may have been written: nothing watched them. The caller compares their bytes with
    /// the last version, and captures those that differ.
    pub maybe: PageSet,
    /// Pages that the next harvest may report although they were not written, unless
    /// [`Tracker::settle`] arms them first: those that are not armed, and all that were expected.
    pub unarmed: PageSet,
}

impl Harvest {
    /// Returns the empty result of a harvest of `pages` pages.
    pub fn new(pages: usize) -> Self {
        Harvest {
            written: PageSet::new(pages),
            maybe: PageSet::new(pages),
            unarmed: PageSet::new(pages),
        }
    }
}

/// Finds the pages that the producer wrote.
///
/// A tracker maps no memory; [`TrackedMemory`](super::TrackedMemory) does. An error of `harvest`
/// means that everything may have changed (I6). The caller then compares every tracked page.
pub trait Tracker: Send {
    /// Returns the kind of this tracker.
    fn kind(&self) -> TrackerKind;

    /// Returns the memory that the pages from `page` on must be mapped from.
    fn backing(&self, page: usize) -> Backing<'_> {
        let _ = page;
        Backing::Zero
    }

    /// Returns the pages that are tracked, and those that are suspended.
    fn tracked(&self) -> &PageSet;

    /// Returns a tracker of memory that lies elsewhere, and that must not be replaced or dropped:
    /// `span` has the same pages at another address. It uses the descriptors of this one, where
    /// both are of the same kind.
    fn beside(&self, span: Span) -> Box<dyn Tracker>;

    /// Tracks `pages` of the span, which were not tracked before. They are tracked before this call
    /// returns.
    ///
    /// # Safety
    /// The pages must be new memory of the caller's own that was mapped from
    /// [`backing`](Tracker::backing), and nothing else may map over them. A tracker that lies
    /// [`beside`](Tracker::beside) another one may be given any memory: it changes no byte, and an
    /// unmapped part is an error.
    unsafe fn track(&mut self, pages: &Range<usize>) -> Result<(), TrackError>;

    /// Adds the pages written since the last harvest to `found`, and arms (write-protects) them
    /// again in the same step. The caller guarantees that nobody writes during the call. After an
    /// error, `found` may lack pages.
    ///
    /// The tracker may leave pages in `expected` unarmed. They are expected to be written anyway,
    /// so each one saves a page fault. Whether it does so or not, all of them count as unarmed, so
    /// that the same pages are compared with every tracker.
    fn harvest(&mut self, expected: &PageSet, found: &mut Harvest) -> Result<(), TrackError>;

    /// Tells the tracker that the bytes of `captured` are stored in a visible version, and that
    /// nobody has written since the harvest.
    ///
    /// The `cow` tracker arms its pages here. Pages that are not settled are reported again, and so
    /// are pages that cannot be armed, which is not an error.
    fn settle(&mut self, captured: &PageSet) -> Result<(), TrackError>;

    /// Stops tracking `pages`, which must be whole, tracked chunks: the gate of deferred capture
    /// watches them from now on. No harvest reports pages in them. After an error they are still
    /// tracked.
    fn suspend(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Err(failed("handing pages to deferred capture")(
            io::ErrorKind::Unsupported.into(),
        ))
    }

    /// Tracks `pages` again, which were suspended, or whose memory was replaced. They are tracked
    /// before this call returns. After an error they may not be tracked; then the next harvest
    /// fails.
    fn resume(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Ok(())
    }

    /// Tracks `pages`, whole chunks whose memory was replaced by a private mapping of a file, of
    /// which no page is copied yet. Until the first store to a chunk, the tracker may find stores
    /// by the copies that they make. Then the chunk need not be protected, which would split its
    /// huge pages. Otherwise as [`resume`](Tracker::resume).
    fn resume_uncopied(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.resume(pages)
    }

    /// Returns an error if some of `pages`, which are tracked, are no longer the memory that is
    /// tracked there, as far as the tracker can tell. It changes nothing.
    fn check(&mut self, pages: &Range<usize>) -> Result<(), TrackError>;

    /// Stops tracking `pages`, which nothing needs to be known of any more.
    fn forget(&mut self, pages: &Range<usize>);

    /// Notes that a device may write `pages` (DMA into locked memory), which no tracker sees. From
    /// now on the tracker never replaces their physical pages, and reports them at every harvest.
    fn pin(&mut self, pages: Range<usize>);
}

/// An operation of a tracker that failed.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct TrackError {
    /// The operation.
    pub what: &'static str,
    /// The error of the kernel.
    pub source: io::Error,
}

/// Returns a function that makes the error of the operation `what`.
pub(super) fn failed(what: &'static str) -> impl Fn(io::Error) -> TrackError {
    move |source| TrackError { what, source }
}
