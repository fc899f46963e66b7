//! What all trackers have in common: which pages of the span are mapped and which are pinned, and
//! that only the process that mapped them may ask.

use super::{Span, TrackError};
use crate::pageset::PageSet;
use crate::sys::fork::Process;
use crate::sys::live::{self, Backing};
use std::io;
use std::ops::Range;

pub(super) fn failed(what: &'static str) -> impl Fn(io::Error) -> TrackError {
    move |source| TrackError { what, source }
}

/// The mapped part of a span.
pub(super) struct Live {
    span: Span,
    mapped: PageSet,
    pinned: PageSet,
    /// The descriptors of a tracker go on speaking of the parent's memory in a forked child.
    process: Process,
    pid: u32,
}

impl Live {
    /// Nothing is mapped yet.
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

    /// Map `pages` over the reservation and `arm` them. If that fails, they are inaccessible as
    /// before.
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
        // SAFETY: the span is the caller's reservation, by the promise of `new`, and these pages of
        // it are not mapped yet: nobody can have borrowed from them.
        if let Err(e) = unsafe { live::map(&range, backing) }.and_then(|()| arm(&range)) {
            // SAFETY: as above. If even this fails, the pages stay mapped and unused.
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

    /// An error in a forked child, and if somebody unmapped a part of the memory: the kernel says
    /// nothing of the pages there, which must not be taken for "not written".
    pub fn check(&self) -> Result<(), TrackError> {
        self.check_but(&PageSet::new(self.span.pages))
    }

    /// The same of all but the pages of `others`, for which somebody else looks.
    pub fn check_but(&self, others: &PageSet) -> Result<(), TrackError> {
        self.check_process()?;
        let mut pages = self.mapped.clone();
        pages.subtract(others);
        pages
            .runs()
            .try_for_each(|run| live::check_mapped(&self.addresses(&run)))
            .map_err(failed("live memory was unmapped behind the tracker's back"))
    }

    /// An error in a forked child.
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

    /// These pages are written by others than this process's page tables know.
    pub fn pin(&mut self, pages: Range<usize>) {
        self.pinned.insert_range(pages);
    }

    /// The mapped pages.
    pub fn mapped(&self) -> &PageSet {
        &self.mapped
    }

    /// The pinned pages, mapped or not.
    pub fn pinned(&self) -> &PageSet {
        &self.pinned
    }

    /// Add the pages that always count as written.
    pub fn add_pinned(&self, written: &mut PageSet) {
        let mut pinned = self.pinned.clone();
        pinned.intersect(&self.mapped);
        written.union(&pinned);
    }

    /// The mapped pages as maximal runs.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.mapped.runs()
    }

    /// Where pages lie.
    pub fn addresses(&self, pages: &Range<usize>) -> Range<usize> {
        let at = |page: usize| self.span.base + page * self.span.page_size;
        at(pages.start)..at(pages.end)
    }

    /// Which pages lie at `addresses`, wholly or in part.
    pub fn pages(&self, addresses: &Range<usize>) -> Range<usize> {
        let Span {
            base, page_size, ..
        } = self.span;
        (addresses.start - base) / page_size..(addresses.end - base).div_ceil(page_size)
    }

    /// The span.
    pub fn span(&self) -> Span {
        self.span
    }
}
