//! The interface of all trackers.

use super::kind::TrackerKind;
use crate::pageset::PageSet;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

/// The address range of live memory: `pages` pages of `page_size` bytes from address `base`.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// First address; a multiple of the page size.
    pub base: usize,
    /// Number of pages.
    pub pages: usize,
    /// Bytes per page.
    pub page_size: usize,
}

/// The meaning of the pages that a harvest reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harvest {
    /// The pages were written, or probably were. The caller captures them.
    Written,
    /// The pages may have been written. The caller compares their bytes with the last version, and
    /// captures those that differ.
    Candidates,
}

/// Finds the pages that the producer wrote.
///
/// An error of `harvest` means that everything may have changed (I6). The caller then treats every
/// tracked page as a candidate.
pub trait Tracker: Send {
    /// Returns the kind of this tracker.
    fn kind(&self) -> TrackerKind;

    /// Maps live memory for `pages` of the span, inside an inaccessible reservation that the caller
    /// owns. The memory is readable, writable and zero, and forked children do not inherit it. It
    /// is tracked before this call returns.
    fn map(&mut self, pages: Range<usize>) -> Result<(), TrackError>;

    /// Adds the pages written since the last harvest to `written`, and arms (write-protects) them
    /// again in the same step. The caller guarantees that nobody writes during the call.
    ///
    /// The tracker may leave pages in `expected` unarmed. They are expected to be written anyway,
    /// so each one saves a page fault. The next harvest reports every page that is not armed,
    /// whether it was written or not.
    fn harvest(&mut self, expected: &PageSet, written: &mut PageSet)
    -> Result<Harvest, TrackError>;

    /// Stops tracking `pages`, which must be whole, mapped chunks: the gate of deferred capture
    /// watches them from now on. No harvest reports pages in them. After an error they are still
    /// tracked.
    fn suspend(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Err(failed("handing pages to deferred capture")(
            io::ErrorKind::Unsupported.into(),
        ))
    }

    /// Tracks `pages` again. They are tracked before this call returns.
    fn resume(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Ok(())
    }

    /// Tells the tracker that the bytes of `captured` are stored in a visible version, and that
    /// nobody has written since the harvest.
    ///
    /// The `cow` tracker arms its pages here. Pages that are not settled are reported again, and so
    /// are pages that cannot be armed, which is not an error.
    fn settle(&mut self, captured: &PageSet) -> Result<(), TrackError>;

    /// Replaces live memory of `pages`, which must be whole chunks, by a private mapping of `file`
    /// at the same offset, so that pages that are not written exist only once. Pages in `own` get
    /// private copies. All pages are tracked as before. After an error they may not be tracked;
    /// then the next harvest fails.
    ///
    /// # Safety
    /// Nobody may write during the call, and no page may be locked for DMA. The file must hold the
    /// bytes of all pages that are not in `own`, and must keep them for as long as these pages have
    /// not been written.
    unsafe fn share(
        &mut self,
        pages: &Range<usize>,
        file: BorrowedFd<'_>,
        own: &PageSet,
    ) -> Result<(), TrackError> {
        let _ = (pages, file, own);
        Err(failed("sharing memory with a plane")(
            io::ErrorKind::Unsupported.into(),
        ))
    }

    /// Gives `pages`, which [`share`](Tracker::share) mapped, private memory again that holds the
    /// same bytes.
    ///
    /// # Safety
    /// Nobody may write during the call, and no page may be locked for DMA.
    unsafe fn own(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Ok(())
    }

    /// Gives `pages`, which [`share`](Tracker::share) mapped, private memory without moving the
    /// pages that are private copies already, so these may be locked for DMA. The next harvest may
    /// report all of `pages`, whether they were written or not.
    fn own_in_place(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Ok(())
    }

    /// Adds to `found` those of `pages` that are in `copies`, the pages that should be private
    /// copies, but are the file's page again. The program can cause this by dropping a copy, for
    /// example with `MADV_DONTNEED`.
    ///
    /// [`share`](Tracker::share) must have mapped `pages`. Pages that are not in memory are checked
    /// only if `absent` is true; the check then brings them into memory.
    fn not_copied(
        &mut self,
        pages: &Range<usize>,
        copies: &PageSet,
        absent: bool,
        found: &mut PageSet,
    ) -> Result<(), TrackError> {
        let _ = (pages, copies, absent, found);
        Ok(())
    }

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
