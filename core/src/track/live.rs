//! State that all trackers share: which pages of the span are mapped, which may be written by
//! devices, and which process created the tracker. Only that process may use it.

use super::tracker::{Span, TrackError, failed};
use crate::pageset::PageSet;
use crate::sys::fork::Process;
use crate::sys::live::{self, Backing};
use std::io;
use std::ops::Range;

/// A span, and what is known of its pages.
pub(super) struct Live {
    span: Span,
    mapped: PageSet,
    /// Pages that a device may write.
    pinned: PageSet,
    /// The process that created this. In a forked child, the descriptors of a tracker still refer
    /// to the memory of the parent.
    process: Process,
    pid: u32,
}

impl Live {
    /// Creates the state of a span of which no page is mapped yet.
    ///
    /// # Safety
    /// As for [`super::create`].
    pub unsafe fn new(span: Span) -> Self {
        let pages = span.pages;
        Live {
            span,
            mapped: PageSet::new(pages),
            pinned: PageSet::new(pages),
            process: Process::current(),
            pid: std::process::id(),
        }
    }

    /// Maps `pages` over the reservation, and calls `arm` with their addresses. If either fails,
    /// the pages are inaccessible as before.
    pub fn map(
        &mut self,
        pages: Range<usize>,
        backing: Backing<'_>,
        arm: impl FnOnce(&Range<usize>) -> io::Result<()>,
    ) -> Result<(), TrackError> {
        self.check_process()?;
        self.check_unmapped(&pages)
            .map_err(failed("mapping live memory"))?;
        let range = self.addresses(&pages);
        // SAFETY: by the promise of `new`, the span is a reservation of the caller that nothing
        // else uses. These pages of it were not mapped, so nothing can be borrowed from them.
        if let Err(e) = unsafe { live::map(&range, backing) }.and_then(|()| arm(&range)) {
            // SAFETY: as above. If this fails too, the pages stay mapped and unused.
            let _ = unsafe { live::unmap(&range) };
            return Err(failed("mapping live memory")(e));
        }
        self.mapped.insert_range(pages);
        Ok(())
    }

    fn check_unmapped(&self, pages: &Range<usize>) -> io::Result<()> {
        let text = if pages.is_empty() || pages.end > self.span.pages {
            format!(
                "pages {pages:?} are not pages of a span of {} pages",
                self.span.pages
            )
        } else if self.mapped.intersects(pages.clone()) {
            format!("some of the pages {pages:?} are mapped already")
        } else {
            return Ok(());
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }

    /// Returns an error in a forked child, or if a part of the memory was unmapped. The kernel
    /// reports nothing about unmapped pages, and that must not be read as "not written".
    pub fn check(&self) -> Result<(), TrackError> {
        self.check_but(&PageSet::new(self.span.pages))
    }

    /// Does the same as [`check`](Self::check) for all pages but those of `others`, which the gate
    /// of deferred capture watches.
    pub fn check_but(&self, others: &PageSet) -> Result<(), TrackError> {
        self.check_process()?;
        let mut pages = self.mapped.clone();
        pages.subtract(others);
        pages
            .runs()
            .try_for_each(|run| live::check_mapped(&self.addresses(&run)))
            .map_err(failed("a part of live memory was unmapped"))
    }

    /// Returns an error in a forked child.
    pub fn check_process(&self) -> Result<(), TrackError> {
        if self.process.is_current() {
            return Ok(());
        }
        let here = std::process::id();
        let text = format!("made by process {}, used by its fork {here}", self.pid);
        Err(failed("a tracker works only in the process that made it")(
            io::Error::other(text),
        ))
    }

    /// Notes that a device may write `pages`, which the page tables of this process do not show.
    pub fn pin(&mut self, pages: Range<usize>) {
        self.pinned.insert_range(pages);
    }

    /// Returns the mapped pages.
    pub fn mapped(&self) -> &PageSet {
        &self.mapped
    }

    /// Returns the pages that a device may write, whether they are mapped or not.
    pub fn pinned(&self) -> &PageSet {
        &self.pinned
    }

    /// Adds to `written` the mapped pages that a device may write: these always count as written.
    pub fn add_pinned(&self, written: &mut PageSet) {
        let mut pinned = self.pinned.clone();
        pinned.intersect(&self.mapped);
        written.union(&pinned);
    }

    /// Returns the mapped pages as maximal runs.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.mapped.runs()
    }

    /// Returns the addresses of `pages`.
    pub fn addresses(&self, pages: &Range<usize>) -> Range<usize> {
        let at = |page: usize| self.span.base + page * self.span.page_size;
        at(pages.start)..at(pages.end)
    }

    /// Returns the pages that lie at `addresses`, wholly or in part.
    pub fn pages(&self, addresses: &Range<usize>) -> Range<usize> {
        let Span {
            base, page_size, ..
        } = self.span;
        (addresses.start - base) / page_size..(addresses.end - base).div_ceil(page_size)
    }

    /// Returns the span.
    pub fn span(&self) -> Span {
        self.span
    }
}
