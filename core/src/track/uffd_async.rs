//! userfaultfd write-protection in asynchronous mode: the kernel itself resolves the first write to
//! a page and remembers it; one scan takes what was written and protects it again.
//!
//! No store is lost, even while others write: each one is complete before the scan has protected
//! its page, and then in its result, or faults afterwards, and is in the next one's. A scan that
//! fails may have protected pages without telling: hence the rule that an error means "everything".
//!
//! Chunks are armed when something in them exists. Before that, all of a chunk is zeros, and a scan
//! that asks for existing pages passes over it: so a sparse region costs what was touched of it.

use super::live::{Live, failed};
use super::{Harvest, Span, TrackError, Tracker, TrackerKind};
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::sys::live::{Backing, copy_in_place, no_huge_pages, read_ahead, replace};
use crate::sys::pagemap::{
    EXISTING, LOOK, NOT_COPIED, OF_THE_FILE, PRESENT, Question, TAKE, WrittenScan,
};
use crate::sys::uffd::{self, Faults, OpenError, Origin, WP_ASYNC, WP_UNPOPULATED};
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use userfaultfd::Uffd;

/// The best tracker: Linux 6.7, no privilege.
pub(super) struct UffdAsync {
    live: Live,
    uffd: Uffd,
    scan: WrittenScan,
    origin: Origin,
    /// Pages of chunks that are armed: those that `harvest` asks for written pages.
    armed: PageSet,
    /// Pages that somebody else watches.
    suspended: PageSet,
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
            armed: PageSet::new(span.pages),
            suspended: PageSet::new(span.pages),
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

impl UffdAsync {
    /// Arm the chunks that have come into being, and report what exists in them.
    fn arm_existing(&mut self, written: &mut PageSet) -> io::Result<()> {
        let mut unarmed = self.live.mapped().clone();
        unarmed.subtract(&self.armed);
        unarmed.subtract(&self.suspended);
        let mut found = PageSet::new(unarmed.capacity());
        self.scan_each(&unarmed, &EXISTING, &mut found)?;
        written.union(&found);
        self.widen_to_chunks(&mut found, &unarmed);
        for run in found.runs() {
            uffd::protect(&self.uffd, &self.live.addresses(&run))?;
            self.armed.insert_range(run);
        }
        // Asked again: a store that came in between is in this answer, a later one faults.
        self.scan_each(&found, &PRESENT, written)
    }

    /// All pages of `within` that lie in a chunk with a page of `set`.
    fn widen_to_chunks(&self, set: &mut PageSet, within: &PageSet) {
        let chunks: Vec<usize> = set.chunks_in_use().map(|(chunk, _)| chunk).collect();
        for chunk in chunks {
            *set.chunk_mut(chunk) = *within.chunk(chunk);
        }
    }

    /// Report what was written in armed chunks, and arm it again but for what is expected.
    fn take(&mut self, expected: &PageSet, written: &mut PageSet) -> io::Result<()> {
        let (quiet, busy) = split_by_chunk(&self.armed, expected);
        self.scan_each(&quiet, &TAKE, written)?;
        if busy.is_empty() {
            return Ok(());
        }
        let mut found = PageSet::new(busy.capacity());
        self.scan_each(&busy, &LOOK, &mut found)?;
        written.union(&found);
        // The look has armed nothing: so no store can be lost between it and the taking of the rest.
        found.subtract(expected);
        let spans = widen(&found, &busy, expected);
        self.scan_each(&spans, &TAKE, written)
    }

    /// Those of `set` in `pages` that the question is answered with.
    fn those_of(
        &mut self,
        set: &PageSet,
        pages: &Range<usize>,
        question: &Question,
    ) -> io::Result<PageSet> {
        let (live, mut found) = (&self.live, PageSet::new(set.capacity()));
        self.scan.scan(live.addresses(pages), question, |range| {
            found.insert_range(live.pages(&range));
        })?;
        found.intersect(set);
        Ok(found)
    }

    fn scan_each(
        &mut self,
        pages: &PageSet,
        question: &Question,
        out: &mut PageSet,
    ) -> io::Result<()> {
        let (live, scan) = (&self.live, &mut self.scan);
        pages.runs().try_for_each(|run| {
            scan.scan(live.addresses(&run), question, |found| {
                out.insert_range(live.pages(&found));
            })
        })
    }
}

impl UffdAsync {
    /// Put other memory in the place of `pages`, and track it.
    ///
    /// # Safety
    /// As for [`live::replace`].
    unsafe fn replace(
        &mut self,
        pages: &Range<usize>,
        backing: Backing<'_>,
        own: &PageSet,
    ) -> io::Result<()> {
        let range = self.live.addresses(pages);
        let mut inside = PageSet::new(own.capacity());
        inside.insert_range(pages.clone());
        inside.intersect(own);
        let own: Vec<_> = inside.runs().map(|run| self.live.addresses(&run)).collect();
        // SAFETY: the caller's promises.
        unsafe { replace(&range, backing, own.into_iter())? };
        no_huge_pages(&range);
        // From here on an error leaves memory that nobody watches: its scan fails, and everything is compared.
        uffd::watch(&self.uffd, &range)?;
        self.suspended.remove_range(pages.clone());
        self.armed.insert_range(pages.clone());
        Ok(())
    }
}

/// `pages` and what lies between them in a chunk, as far as it is in `within` and holds no page of `but`: asking for few long
/// runs costs less than for many short ones.
fn widen(pages: &PageSet, within: &PageSet, but: &PageSet) -> PageSet {
    let mut wide = pages.clone();
    let mut end = None;
    for run in pages.runs() {
        if let Some(end) = end.replace(run.end)
            && (end - 1) / CHUNK_PAGES == run.start / CHUNK_PAGES
            && !but.intersects(end..run.start)
            && within.count_in(end..run.start) == run.start - end
        {
            wide.insert_range(end..run.start);
        }
    }
    wide
}

/// The pages of `set` in chunks without, and in chunks with, a page of `marks`.
fn split_by_chunk(set: &PageSet, marks: &PageSet) -> (PageSet, PageSet) {
    let (mut without, mut with) = (set.clone(), PageSet::new(set.capacity()));
    for (chunk, _) in marks.chunks_in_use() {
        *with.chunk_mut(chunk) = *set.chunk(chunk);
        *without.chunk_mut(chunk) = Default::default();
    }
    (without, with)
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
            uffd::register(&self.uffd, range)
        })
    }

    fn harvest(
        &mut self,
        expected: &PageSet,
        written: &mut PageSet,
    ) -> Result<Harvest, TrackError> {
        self.live.check_but(&self.suspended)?;
        // What is armed first: what arms itself below is reported there.
        self.take(expected, written)
            .map_err(failed("scanning for written pages"))?;
        self.arm_existing(written).map_err(failed(
            "protecting pages that were written for the first time",
        ))?;
        self.live.add_pinned(written);
        Ok(Harvest::Written)
    }

    fn settle(&mut self, _captured: &PageSet) -> Result<(), TrackError> {
        self.live.check_process() // the harvest has re-armed already
    }

    fn suspend(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        uffd::unwatch(&self.uffd, &self.live.addresses(pages))
            .map_err(failed("handing pages to deferred capture"))?;
        self.armed.remove_range(pages.clone());
        self.suspended.insert_range(pages.clone());
        self.suspended.settle();
        Ok(())
    }

    fn resume(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        uffd::watch(&self.uffd, &self.live.addresses(pages))
            .map_err(failed("taking pages back from deferred capture"))?;
        self.suspended.remove_range(pages.clone());
        self.armed.insert_range(pages.clone());
        self.armed.settle();
        Ok(())
    }

    unsafe fn rest(
        &mut self,
        pages: &Range<usize>,
        file: BorrowedFd<'_>,
        own: &PageSet,
    ) -> Result<(), TrackError> {
        let range = self.live.addresses(pages);
        let backing = Backing::File(file, range.start - self.live.span().base);
        // SAFETY: live memory of ours that is mapped; the caller's promises.
        unsafe { self.replace(pages, backing, own) }.map_err(failed("sharing memory with a plane"))
    }

    unsafe fn own(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let mut all = PageSet::new(self.live.span().pages);
        all.insert_range(pages.clone());
        // SAFETY: live memory of ours that is mapped, all of which is copied; the caller's promise.
        unsafe { self.replace(pages, Backing::Zero, &all) }
            .map_err(failed("taking memory back that was shared with a plane"))
    }

    fn own_in_place(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        copy_in_place(&self.live.addresses(pages))
            .map_err(failed("copying memory that was shared with a plane"))
    }

    fn not_copied(
        &mut self,
        pages: &Range<usize>,
        copies: &PageSet,
        absent: bool,
        found: &mut PageSet,
    ) -> Result<(), TrackError> {
        let failed = failed("looking for copies of shared memory");
        if absent {
            let lost = self.those_of(copies, pages, &NOT_COPIED).map_err(&failed)?;
            if lost.is_empty() {
                return Ok(());
            }
            for run in lost.runs() {
                // Those that cannot be had stay away, and are looked for again.
                let _ = read_ahead(&self.live.addresses(&run));
            }
        }
        let lost = self
            .those_of(copies, pages, &OF_THE_FILE)
            .map_err(&failed)?;
        found.union(&lost);
        Ok(())
    }

    fn pin(&mut self, pages: Range<usize>) {
        self.live.pin(pages);
    }
}
