//! How written pages are found: the trackers, and the probe that chooses one.

mod behaviour;
mod compare;
#[cfg(test)]
mod conformance;
mod cow;
#[cfg(test)]
mod guarantees;
mod kind;
mod live;
mod probe;
#[cfg(test)]
mod sharing;
mod uffd_async;

pub use kind::UnknownTracker;
pub use probe::{Choice, ChooseError, ENV, Probe, Verdict, choose, create, probe};

use crate::pageset::PageSet;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::os::fd::BorrowedFd;

/// The ways of tracking, best first. Written `uffd-async`, `cow` and `compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrackerKind {
    /// userfaultfd write-protection in asynchronous mode, harvested by PAGEMAP_SCAN (Linux >= 6.7).
    UffdAsync,
    /// Private mapping of a memfd: a page that has become anonymous was written.
    Cow,
    /// Everything is a candidate; the capture compares bytes with the last version.
    Compare,
}

/// Where live memory lies: `pages` pages of `page_size` bytes from address `base`.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// First address; a multiple of the page size.
    pub base: usize,
    /// Number of pages.
    pub pages: usize,
    /// Bytes per page.
    pub page_size: usize,
}

/// What a harvest says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harvest {
    /// The pages were written (or may well have been): capture them.
    Written,
    /// The pages are candidates: compare their bytes with the last version, capture those that
    /// differ.
    Candidates,
}

/// A way of finding the pages that the producer wrote.
///
/// An error of `harvest` means that everything may have changed (I6): the caller then treats every
/// tracked page as a candidate.
pub trait Tracker: Send {
    /// Which tracker this is.
    fn kind(&self) -> TrackerKind;

    /// Map live memory for `pages` of the span (inside an inaccessible reservation that the caller
    /// owns): readable, writable, zero, not inherited by fork, and tracked from before this
    /// returns.
    fn map(&mut self, pages: Range<usize>) -> Result<(), TrackError>;

    /// Add the pages written since the last harvest to `written`, and re-arm them in the same step.
    /// The caller guarantees that nobody writes during the call.
    ///
    /// Pages in `expected` need not be armed: they are expected to be written anyway, and each saves
    /// a page fault. What is not armed is reported next time, written or not.
    fn harvest(&mut self, expected: &PageSet, written: &mut PageSet)
    -> Result<Harvest, TrackError>;

    /// Stop tracking `pages`, whole chunks that are mapped: somebody else watches them from now on.
    /// Nothing in them is reported. An error leaves them tracked.
    fn suspend(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Err(live::failed("handing pages to deferred capture")(
            std::io::ErrorKind::Unsupported.into(),
        ))
    }

    /// Track `pages` again, from before this returns.
    fn resume(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Ok(())
    }

    /// The bytes of `captured` are stored in a version that is visible; nobody has written since
    /// the harvest. The `cow` tracker re-arms here: without this its pages stay reported, as do
    /// those that cannot be re-armed, which is no error.
    fn settle(&mut self, captured: &PageSet) -> Result<(), TrackError>;

    /// Let live memory of `pages`, whole chunks, be a private mapping of `file` at the same offset, so that what is not written
    /// exists once; pages in `own` get copies of their own. They are tracked as before; after an error possibly not, which the
    /// next harvest says.
    ///
    /// # Safety
    /// Nobody may write during the call, and no device have pinned the pages. But for those in `own`, the file must hold the
    /// bytes of the pages, and go on holding them as long as the pages have not been written.
    unsafe fn rest(
        &mut self,
        pages: &Range<usize>,
        file: BorrowedFd<'_>,
        own: &PageSet,
    ) -> Result<(), TrackError> {
        let _ = (pages, file, own);
        Err(live::failed("sharing memory with a plane")(
            std::io::ErrorKind::Unsupported.into(),
        ))
    }

    /// Give `pages`, mapped by `rest`, other memory again that is all their own, with the bytes that they have.
    ///
    /// # Safety
    /// Nobody may write during the call, and no device have pinned the pages.
    unsafe fn own(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Ok(())
    }

    /// The same without moving those that are their own already, so that devices may have pinned them. All of `pages` may be
    /// reported at the next harvest, written or not.
    fn own_in_place(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let _ = pages;
        Ok(())
    }

    /// Adds to `found` those of `pages`, mapped by `rest`, that ought to be copies, as all of
    /// `copies` do, and are the file's. Pages that are not in memory are looked at only with
    /// `absent`, which brings them in.
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

    /// `pages` may be written by a device (DMA into pinned memory), which no tracker sees: never
    /// replace their physical pages, and report them at every harvest from now on.
    fn pin(&mut self, pages: Range<usize>);
}

/// Why tracking failed.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {source}")]
pub struct TrackError {
    /// What was being done.
    pub what: &'static str,
    /// What the kernel said.
    pub source: std::io::Error,
}
