//! Copy on write: live memory is a private mapping of a memfd, and a page that is no longer the
//! file's was written.
//!
//! A written page is re-armed by storing its bytes in the file, at the same offset, and dropping
//! the private copy, so that the file's page takes its place. Dropping is right only if the file
//! holds these very bytes, nobody writes in between, and no device writes to the copy: so it
//! happens in `settle` alone, page ranges that could not be stored are left as they are, and pinned
//! pages always. A page that is not re-armed is merely reported once more.

use super::live::{Live, failed};
use super::{Harvest, Span, TrackError, Tracker, TrackerKind};
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::sys::live::{Backing, drop_copies};
use crate::sys::object::Object;
use crate::sys::pagemap::CopyScan;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

/// Needs no userfaultfd: works in default containers and on older kernels.
pub(super) struct Cow {
    live: Live,
    file: Object,
    scan: CopyScan,
    /// The private copies that the last harvest found.
    copies: PageSet,
}

impl Cow {
    /// # Safety
    /// As for [`super::create`].
    pub unsafe fn new(span: Span) -> io::Result<Self> {
        let bytes = span.pages as u64 * span.page_size as u64;
        Ok(Cow {
            // SAFETY: handed on to the caller.
            live: unsafe { Live::new(span) },
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

    /// Hand `pages` back to the file, or leave all of them as they are.
    fn rearm(&self, pages: &Range<usize>) -> io::Result<()> {
        let range = self.live.addresses(pages);
        let offset = range.start - self.live.span().base;
        let from = range.start as *const u8;
        // SAFETY: live memory, mapped here, that nobody writes between harvest and the end of
        // settle. What has become unreadable is an error.
        unsafe { self.file.write_from(from, range.len(), offset as u64) }?;
        // SAFETY: the file now holds the same bytes at the same offset.
        unsafe { drop_copies(&range) }
    }
}

impl Tracker for Cow {
    fn kind(&self) -> TrackerKind {
        TrackerKind::Cow
    }

    fn map(&mut self, pages: Range<usize>) -> Result<(), TrackError> {
        let offset = pages.start.saturating_mul(self.live.span().page_size);
        self.live
            .map(pages, Backing::File(self.file.as_fd(), offset), |_| Ok(()))
    }

    fn harvest(
        &mut self,
        _expected: &PageSet,
        written: &mut PageSet,
    ) -> Result<Harvest, TrackError> {
        self.copies.clear(); // after an error there is nothing to re-arm
        self.live.check()?;
        if let Err(e) = self.find_copies() {
            self.copies.clear();
            return Err(failed("reading which pages were copied")(e));
        }
        written.union(&self.copies);
        self.live.add_pinned(written);
        Ok(Harvest::Written)
    }

    fn settle(&mut self, captured: &PageSet) -> Result<(), TrackError> {
        self.live.check_process()?;
        self.copies.intersect(captured);
        self.copies.subtract(self.live.pinned());
        // Chunk by chunk: until its copies are dropped, a range takes twice its memory.
        for run in self.copies.runs() {
            for start in run.clone().step_by(CHUNK_PAGES) {
                // An error leaves the pages dirty: the next harvest has them again.
                let _ = self.rearm(&(start..run.end.min(start + CHUNK_PAGES)));
            }
        }
        self.copies.clear();
        Ok(())
    }

    fn pin(&mut self, pages: Range<usize>) {
        self.live.pin(pages);
    }
}
