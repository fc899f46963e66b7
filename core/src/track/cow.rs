//! The tracker `cow` (copy on write): live memory is a private mapping of a memfd. A page that is a
//! private copy, and no longer the page of the file, was written.
//!
//! To arm a written page again, the tracker stores its bytes in the file at the same offset and
//! drops the private copy, so that the page of the file takes its place. This is correct only if
//! the file holds exactly these bytes, nobody writes in between, and no device writes to the copy.
//! So it happens only in `settle`. Ranges that could not be stored keep their copies, and so do
//! pages that are locked for DMA. A page that is not armed is only reported once more.

use super::compare::Compare;
use super::kind::TrackerKind;
use super::live::Live;
use super::tracker::{Harvest, Span, TrackError, Tracker, failed};
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::sys::live::{Backing, drop_copies};
use crate::sys::object::Object;
use crate::sys::pagemap::CopyScan;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

/// The tracker `cow`. It needs no userfaultfd, so it works in default containers and on older
/// kernels.
pub(super) struct Cow {
    live: Live,
    file: Object,
    scan: CopyScan,
    /// The private copies that the last harvest found.
    copies: PageSet,
}

impl Cow {
    pub fn new(span: Span) -> io::Result<Self> {
        let bytes = span.pages as u64 * span.page_size as u64;
        Ok(Cow {
            live: Live::new(span),
            file: Object::create("tcasm-live", bytes)?,
            scan: CopyScan::open()?,
            copies: PageSet::new(span.pages),
        })
    }

    fn find_copies(&mut self) -> io::Result<()> {
        let Self {
            live, scan, copies, ..
        } = self;
        let first = live.span().base / live.span().page_size;
        live.runs().try_for_each(|run| {
            scan.copies(first + run.start..first + run.end, |found| {
                copies.insert_range(found.start - first..found.end - first);
            })
        })
    }

    /// Replaces the copies of `pages` by pages of the file with the same bytes. After an error all
    /// of them are as they were.
    fn rearm(&self, pages: &Range<usize>) -> io::Result<()> {
        let range = self.live.span().addresses(pages);
        let offset = range.start - self.live.span().base;
        let from = range.start as *const u8;
        // SAFETY: the range is live memory of this process, by the promise of `track`, and nobody
        // writes it between the harvest and the end of `settle`. A part that has become unreadable
        // is an error.
        unsafe { self.file.write_from(from, range.len(), offset as u64) }?;
        // SAFETY: the range is a mapping of the file, by the promise of `track`. The file now holds
        // the same bytes at the same offset, and nobody has written the range since.
        unsafe { drop_copies(&range) }
    }
}

impl Tracker for Cow {
    fn kind(&self) -> TrackerKind {
        TrackerKind::Cow
    }

    fn backing(&self, page: usize) -> Backing<'_> {
        Backing::File(self.file.as_fd(), page * self.live.span().page_size)
    }

    fn tracked(&self) -> &PageSet {
        self.live.tracked()
    }

    /// Copy on write replaces pages, so memory of others is compared.
    fn beside(&self, span: Span) -> Box<dyn Tracker> {
        Box::new(Compare::new(span))
    }

    unsafe fn track(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.live.track(pages);
        Ok(())
    }

    fn harvest(&mut self, expected: &PageSet, found: &mut Harvest) -> Result<(), TrackError> {
        self.copies.clear(); // after an error, `settle` must not arm anything
        self.live.check()?;
        if let Err(e) = self.find_copies() {
            self.copies.clear();
            return Err(failed("reading which pages were copied")(e));
        }
        found.written.union(&self.copies);
        found.unarmed.union(&self.copies);
        found.unarmed.union(expected);
        self.live.add_pinned(&mut found.written);
        Ok(())
    }

    fn settle(&mut self, captured: &PageSet) -> Result<(), TrackError> {
        self.live.check_process()?;
        self.copies.intersect(captured);
        self.copies.subtract(self.live.pinned());
        // One chunk at a time, because a range takes twice its memory until its copies are dropped.
        for run in self.copies.runs() {
            for start in run.clone().step_by(CHUNK_PAGES) {
                // After an error the pages stay dirty, and the next harvest reports them again.
                let _ = self.rearm(&(start..run.end.min(start + CHUNK_PAGES)));
            }
        }
        self.copies.clear();
        Ok(())
    }

    fn check(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.live.check_pages(pages)
    }

    fn forget(&mut self, pages: &Range<usize>) {
        self.live.forget(pages);
    }

    fn pin(&mut self, pages: Range<usize>) {
        self.live.pin(pages);
    }
}
