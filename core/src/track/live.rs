//! State that all trackers share: which pages of the span are tracked, which may be written by
//! devices, and which process created the tracker. Only that process may use it.

use super::tracker::{Span, TrackError, failed};
use crate::pageset::PageSet;
use crate::sys::fork::Process;
use crate::sys::live;
use std::io;
use std::ops::Range;

/// A span, and what is known of its pages.
pub(super) struct Live {
    span: Span,
    tracked: PageSet,
    /// Pages that a device may write.
    pinned: PageSet,
    /// The process that created this. In a forked child, the descriptors of a tracker still refer
    /// to the memory of the parent.
    process: Process,
    pid: u32,
}

impl Live {
    /// Returns the state of a span of which no page is tracked yet.
    pub fn new(span: Span) -> Self {
        let pages = span.pages;
        Live {
            span,
            tracked: PageSet::new(pages),
            pinned: PageSet::new(pages),
            process: Process::current(),
            pid: std::process::id(),
        }
    }

    /// Records that `pages` are tracked.
    pub fn track(&mut self, pages: &Range<usize>) {
        self.tracked.insert_range(pages.clone());
    }

    /// Returns an error in a forked child, or if a part of the memory was unmapped. The kernel
    /// reports nothing about unmapped pages, and that must not be read as "not written".
    pub fn check(&self) -> Result<(), TrackError> {
        self.check_process()?;
        self.tracked
            .runs()
            .try_for_each(|run| live::check_mapped(&self.span.addresses(&run)))
            .map_err(failed("a part of live memory was unmapped"))
    }

    /// Returns an error if some of `pages` are not mapped.
    pub fn check_pages(&self, pages: &Range<usize>) -> Result<(), TrackError> {
        live::check_mapped(&self.span.addresses(pages)).map_err(failed("a part was unmapped"))
    }

    /// Records that `pages` are not tracked any more.
    pub fn forget(&mut self, pages: &Range<usize>) {
        self.tracked.remove_range(pages.clone());
        self.pinned.remove_range(pages.clone());
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

    /// Returns the tracked pages.
    pub fn tracked(&self) -> &PageSet {
        &self.tracked
    }

    /// Returns the pages that a device may write, whether they are tracked or not.
    pub fn pinned(&self) -> &PageSet {
        &self.pinned
    }

    /// Adds to `written` the tracked pages that a device may write: these always count as written.
    pub fn add_pinned(&self, written: &mut PageSet) {
        let mut pinned = self.pinned.clone();
        pinned.intersect(&self.tracked);
        written.union(&pinned);
    }

    /// Returns the tracked pages as maximal runs.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.tracked.runs()
    }

    /// Returns the span.
    pub fn span(&self) -> Span {
        self.span
    }
}
