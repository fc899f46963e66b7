//! Live memory with its tracker: maps memory that is tracked from the start, and shares parts of it
//! with planes.

use super::adopted::{AdoptError, AdoptedArrays, Adoption};
use super::create::create;
use super::kind::TrackerKind;
use super::tracker::{Span, TrackError, Tracker, failed};
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::segments::{Segment, Segments};
use crate::sys::fork::Process;
use crate::sys::huge::is_huge_in;
use crate::sys::live::{self, Backing};
use crate::sys::pagemap::{NOT_COPIED, OF_THE_FILE, Question, WrittenScan};
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// A reservation of addresses, the memory that is mapped there, and its tracker.
pub struct TrackedMemory {
    tracker: Box<dyn Tracker>,
    adopted: AdoptedArrays,
    span: Span,
    /// The scan for private copies and huge pages. It is opened when it is first needed.
    copies: Option<WrittenScan>,
    /// True if the memory may consist of huge pages.
    huge: bool,
    /// True if the whole span is mapped by reserved huge pages.
    reserved: bool,
    process: Process,
}

impl TrackedMemory {
    /// Creates a tracker of `kind` for a span of which nothing is mapped yet.
    ///
    /// # Safety
    /// The span must be a reservation that the caller owns, and nothing else may use it as long as
    /// this value lives. Parts of it are mapped on request, and pages there are dropped and
    /// restored. Nothing is unmapped when this value is dropped.
    pub unsafe fn create(kind: TrackerKind, span: Span) -> Result<Self, TrackError> {
        let tracker = create(kind, span)?;
        // SAFETY: the obligations are the same as for this function.
        Ok(unsafe { Self::with(tracker, span) })
    }

    /// Adopts arrays into `segments` from now on. None may be adopted yet.
    pub fn adopt_into(&mut self, segments: Arc<Segments>) {
        self.adopted = AdoptedArrays::new(segments);
    }

    /// Uses `tracker`, which tracks nothing yet, for `span`.
    ///
    /// # Safety
    /// As for [`create`](Self::create), and the tracker must have been created for the same span.
    pub(super) unsafe fn with(tracker: Box<dyn Tracker>, span: Span) -> Self {
        let segments = Arc::new(Segments::new(span.base, span.page_size));
        TrackedMemory {
            tracker,
            adopted: AdoptedArrays::new(segments),
            span,
            copies: None,
            huge: false,
            reserved: false,
            process: Process::current(),
        }
    }

    /// Allows huge pages in memory that is mapped from now on, or keeps them out. The probe must
    /// have found that they can be tracked.
    pub fn allow_huge_pages(&mut self, allowed: bool) {
        self.huge = allowed;
        if allowed {
            // Opened now, so that no descriptor is opened later. Without it no page counts as
            // small.
            let _ = self.open_scan();
        }
    }

    /// Returns true if the memory may consist of huge pages.
    pub fn has_huge_pages(&self) -> bool {
        self.huge
    }

    /// Maps reserved huge pages over the whole span, of which nothing may be mapped yet. The span
    /// must consist of whole ones. From then on [`map`](Self::map) only tracks memory. After an
    /// error the pages are inaccessible as before.
    ///
    /// Only `compare` can track such memory: PAGEMAP_SCAN reports a page of it that the program has
    /// dropped as not written.
    pub fn use_reserved_pages(&mut self) -> io::Result<()> {
        if self.kind() != TrackerKind::Compare || !self.mapped().is_empty() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let range = self.span.addresses(&(0..self.span.pages));
        // SAFETY: by the promise of `with`, the span is a reservation of the caller that nothing
        // else uses. Nothing in it was mapped, so nothing can be borrowed from it.
        let mapped = unsafe { live::map_reserved(&range) };
        if mapped.is_err() {
            // SAFETY: as above. This keeps other mappings out of the range.
            let _ = unsafe { live::unmap(&range) };
        }
        self.reserved = mapped.is_ok();
        mapped
    }

    /// Returns true if the whole span is mapped by reserved huge pages.
    pub fn has_reserved_pages(&self) -> bool {
        self.reserved
    }

    /// Returns true if `pages` are mapped by huge pages, or if that cannot be found out.
    pub fn is_huge(&mut self, pages: &Range<usize>) -> bool {
        let range = self.span.addresses(pages);
        let scan = self.open_scan();
        scan.and_then(|scan| is_huge_in(scan, &range))
            .unwrap_or(true)
    }

    /// Returns the scan for properties of pages, and opens it if it is not open yet.
    fn open_scan(&mut self) -> io::Result<&mut WrittenScan> {
        match &mut self.copies {
            Some(scan) => Ok(scan),
            none => Ok(none.insert(WrittenScan::with_capacity(CHUNK_PAGES)?)),
        }
    }

    /// Returns the kind of the tracker.
    pub fn kind(&self) -> TrackerKind {
        self.tracker.kind()
    }

    /// Returns the tracker.
    pub fn tracker(&mut self) -> &mut dyn Tracker {
        &mut *self.tracker
    }

    /// Adopts an array that the program had already.
    pub fn adopt(&mut self, segment: Segment) -> Result<Adoption, AdoptError> {
        self.adopted.adopt(&*self.tracker, segment, self.span.pages)
    }

    /// Returns the adopted arrays.
    pub fn adopted(&mut self) -> &mut AdoptedArrays {
        &mut self.adopted
    }

    /// Notes that a device may write `pages`. See [`Tracker::pin`].
    pub fn pin(&mut self, pages: &Range<usize>) {
        self.tracker.pin(pages.clone());
        self.adopted.pin(pages);
    }

    /// Returns how many pages are tracked, adopted ones included.
    pub fn tracked_pages(&self) -> usize {
        self.mapped().len() + self.adopted.pages()
    }

    /// Returns the pages that were mapped.
    pub fn mapped(&self) -> &PageSet {
        self.tracker.tracked()
    }

    /// Maps live memory for `pages` of the span. The memory is readable, writable and zero, and
    /// forked children do not inherit it. It is tracked before this call returns. After an error
    /// the pages are inaccessible as before.
    pub fn map(&mut self, pages: Range<usize>) -> Result<(), TrackError> {
        self.check_unmapped(&pages)
            .map_err(failed("mapping live memory"))?;
        if self.reserved {
            // SAFETY: these pages were mapped with the span, and `compare` asks for zeros, which
            // they are. Nothing else maps over them, by the promise of `with`.
            return unsafe { self.tracker.track(&pages) };
        }
        let range = self.span.addresses(&pages);
        // SAFETY: by the promise of `with`, the span is a reservation of the caller that nothing
        // else uses. These pages of it were not mapped, so nothing can be borrowed from them.
        let mapped = unsafe { live::map(&range, self.tracker.backing(pages.start)) };
        self.settle_size(&range);
        let tracked = mapped
            .map_err(failed("mapping live memory"))
            // SAFETY: the pages were just mapped from the backing that the tracker asks for.
            .and_then(|()| unsafe { self.tracker.track(&pages) });
        if tracked.is_err() {
            // SAFETY: as for `map`. If this fails too, the pages stay mapped and unused.
            let _ = unsafe { live::unmap(&range) };
        }
        tracked
    }

    /// Keeps huge pages out of `range`, unless they are allowed. The kernel does not gather small
    /// pages that are protected into huge ones anyway.
    fn settle_size(&self, range: &Range<usize>) {
        if !self.huge {
            live::no_huge_pages(range);
        }
    }

    fn check_unmapped(&self, pages: &Range<usize>) -> io::Result<()> {
        let text = if !self.process.is_current() {
            "a forked child cannot map live memory of its parent".into()
        } else if pages.is_empty() || pages.end > self.span.pages {
            format!(
                "pages {pages:?} are not pages of a span of {} pages",
                self.span.pages
            )
        } else if self.mapped().intersects(pages.clone()) {
            format!("some of the pages {pages:?} are mapped already")
        } else {
            return Ok(());
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }
}

impl TrackedMemory {
    /// Replaces live memory of `pages`, which must be whole chunks, by a private mapping of `file`
    /// at the same offset, so that pages that are not written exist only once. Pages in `own` get
    /// private copies. All pages are tracked as before. After an error they may not be tracked;
    /// then the next harvest fails. Only `uffd-async` can track such memory.
    ///
    /// # Safety
    /// Nobody may write during the call, and no page may be locked for DMA. The file must hold the
    /// bytes of all pages that are not in `own`, and must keep them for as long as these pages have
    /// not been written.
    pub unsafe fn share(
        &mut self,
        pages: &Range<usize>,
        file: BorrowedFd<'_>,
        own: &PageSet,
    ) -> Result<(), TrackError> {
        let failed = failed("sharing memory with a plane");
        if self.kind() != TrackerKind::UffdAsync {
            return Err(failed(io::ErrorKind::Unsupported.into()));
        }
        self.open_scan().map_err(&failed)?;
        let offset = self.span.addresses(pages).start - self.span.base;
        // SAFETY: the pages are mapped, so they are readable. By the caller's promise nobody
        // writes, no page is locked for DMA, and the file holds the bytes of all pages that are not
        // in `own`.
        unsafe { self.replace(pages, Backing::File(file, offset), own) }.map_err(failed)?;
        let chunks = pages.clone().step_by(CHUNK_PAGES);
        let chunks: Vec<_> = chunks.map(|first| first..first + CHUNK_PAGES).collect();
        for run in chunks.chunk_by(|a, b| own.intersects(a.clone()) == own.intersects(b.clone())) {
            let pages = run[0].start..run[run.len() - 1].end;
            match self.huge && !own.intersects(pages.clone()) {
                true => self.tracker.resume_uncopied(&pages)?,
                false => self.tracker.resume(&pages)?,
            }
        }
        Ok(())
    }

    /// Gives `pages`, which [`share`](Self::share) mapped, private memory again that holds the same
    /// bytes. After an error they may not be tracked; then the next harvest fails.
    ///
    /// # Safety
    /// Nobody may write during the call, and no page may be locked for DMA.
    pub unsafe fn own(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let mut all = PageSet::new(self.span.pages);
        all.insert_range(pages.clone());
        // SAFETY: the pages are mapped, so they are readable. All of them are copied, so the
        // backing need not hold their bytes. By the caller's promise nobody writes, and no page is
        // locked for DMA.
        unsafe { self.replace(pages, Backing::Zero, &all) }
            .map_err(failed("taking memory back that was shared with a plane"))?;
        self.tracker.resume(pages)
    }

    /// Gives `pages`, which [`share`](Self::share) mapped, private memory without moving the pages
    /// that are private copies already, so these may be locked for DMA. The next harvest may report
    /// all of `pages`, whether they were written or not.
    pub fn own_in_place(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        live::copy_in_place(&self.span.addresses(pages))
            .map_err(failed("copying memory that was shared with a plane"))
    }

    /// Replaces the memory of `pages` by memory with another backing, which is not tracked yet.
    ///
    /// # Safety
    /// As for [`live::replace`].
    unsafe fn replace(
        &mut self,
        pages: &Range<usize>,
        backing: Backing<'_>,
        own: &PageSet,
    ) -> io::Result<()> {
        let range = self.span.addresses(pages);
        let mut inside = PageSet::new(own.capacity());
        inside.insert_range(pages.clone());
        inside.intersect(own);
        let own: Vec<_> = inside.runs().map(|run| self.span.addresses(&run)).collect();
        // SAFETY: the obligations are the same as for this function; the ranges in `own` lie inside
        // `range`, because they were intersected with `pages`.
        unsafe { live::replace(&range, backing, own.into_iter())? };
        self.settle_size(&range);
        Ok(())
    }

    /// Adds to `found` those of `pages` that are in `copies`, the pages that should be private
    /// copies, but are the file's page again. The program can cause this by dropping a copy, for
    /// example with `MADV_DONTNEED`.
    ///
    /// [`share`](Self::share) must have mapped `pages`. Pages that are not in memory are checked
    /// only if `absent` is true; the check then brings them into memory.
    pub fn dropped_copies(
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
                // Pages that cannot be brought into memory are checked again the next time.
                let _ = live::read_ahead(&self.span.addresses(&run));
            }
        }
        let lost = self
            .those_of(copies, pages, &OF_THE_FILE)
            .map_err(&failed)?;
        found.union(&lost);
        Ok(())
    }

    /// Returns the pages of `set` in `pages` that match the question.
    fn those_of(
        &mut self,
        set: &PageSet,
        pages: &Range<usize>,
        question: &Question,
    ) -> io::Result<PageSet> {
        let mut found = PageSet::new(set.capacity());
        let Some(scan) = &mut self.copies else {
            return Ok(found); // nothing was ever shared
        };
        let span = self.span;
        scan.scan(span.addresses(pages), question, |range| {
            found.insert_range(span.pages_at(&range));
        })?;
        found.intersect(set);
        Ok(found)
    }
}
