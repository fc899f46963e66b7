//! userfaultfd write-protection in asynchronous mode: the kernel itself resolves the first write to
//! a page and remembers it; one scan takes what was written and protects it again.
//!
//! No store is lost, even while others write: each one is complete before the scan has protected
//! its page, and then in its result, or faults afterwards, and is in the next one's. A scan that
//! fails may have protected pages without telling: hence the rule that an error means "everything".

use super::live::{Live, failed};
use super::{Harvest, Span, TrackError, Tracker, TrackerKind};
use crate::pageset::PageSet;
use crate::sys::live::{Backing, no_huge_pages};
use crate::sys::pagemap::WrittenScan;
use crate::sys::uffd::{self, Faults, OpenError, Origin, WP_ASYNC, WP_UNPOPULATED};
use std::io;
use std::ops::Range;
use userfaultfd::Uffd;

/// The best tracker: Linux 6.7, no privilege.
pub(super) struct UffdAsync {
    live: Live,
    uffd: Uffd,
    scan: WrittenScan,
    origin: Origin,
}

impl UffdAsync {
    /// # Safety
    /// As for [`super::create`].
    pub unsafe fn new(span: Span) -> Result<Self, OpenFailed> {
        // SAFETY: handed on to the caller.
        unsafe { Self::with_scan(span, WrittenScan::open().map_err(OpenFailed::Pagemap)?) }
    }

    /// The same with a scan of the caller's.
    ///
    /// # Safety
    /// As for [`super::create`].
    pub unsafe fn with_scan(span: Span, scan: WrittenScan) -> Result<Self, OpenFailed> {
        let (uffd, origin) = uffd::open(Faults::User, WP_ASYNC | WP_UNPOPULATED)?;
        // SAFETY: handed on to the caller.
        let live = unsafe { Live::new(span) };
        Ok(UffdAsync {
            live,
            uffd,
            scan,
            origin,
        })
    }

    /// How the descriptor was obtained.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    #[cfg(test)]
    pub fn scan(&self) -> &WrittenScan {
        &self.scan
    }
}

/// Why this tracker cannot be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenFailed {
    #[error(transparent)]
    Uffd(#[from] OpenError),
    #[error("/proc/self/pagemap cannot be opened: {0}")]
    Pagemap(io::Error),
}

impl Tracker for UffdAsync {
    fn kind(&self) -> TrackerKind {
        TrackerKind::UffdAsync
    }

    fn map(&mut self, pages: Range<usize>) -> Result<(), TrackError> {
        self.live.map(pages, Backing::Zero, |range| {
            // Protected pages are not gathered into huge ones anyway; and many kernels never report
            // a whole huge page that was written and then dropped.
            no_huge_pages(range);
            uffd::watch(&self.uffd, range)
        })
    }

    fn harvest(&mut self, written: &mut PageSet) -> Result<Harvest, TrackError> {
        self.live.check()?;
        let (live, scan) = (&self.live, &mut self.scan);
        live.runs()
            .try_for_each(|run| {
                scan.take(live.addresses(&run), |found| {
                    written.insert_range(live.pages(&found))
                })
            })
            .map_err(failed("scanning for written pages"))?;
        live.add_pinned(written);
        Ok(Harvest::Written)
    }

    fn settle(&mut self, _captured: &PageSet) -> Result<(), TrackError> {
        self.live.check_process() // the harvest has re-armed already
    }

    fn pin(&mut self, pages: Range<usize>) {
        self.live.pin(pages);
    }
}
