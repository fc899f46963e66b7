//! The tracker `uffd-async`: userfaultfd write-protection in asynchronous mode. The kernel itself
//! resolves the first write to a page and remembers it. One scan returns the pages that were
//! written, and protects them again.
//!
//! No store is lost, even if other threads write during a scan. A store either completes before the
//! scan protects its page, and this scan returns the page; or it faults afterwards, and the next
//! scan returns the page. A scan that fails may have protected pages without reporting them. This
//! is why an error means that everything may have changed.
//!
//! A chunk is armed once a page in it exists. Before that the whole chunk is zeros, and a scan for
//! existing pages skips it. So the cost of a sparse region follows the part that was touched.
//!
//! A chunk that is shared with a plane as a whole is not armed before the first store to it: the
//! kernel would split its huge page. The store makes a private copy, which a scan finds.

use super::claims::Claims;
use super::kind::TrackerKind;
use super::live::Live;
use super::tracker::{Harvest, Span, TrackError, Tracker, failed};
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::sys::live::read_ahead;
use crate::sys::lock::Lock;
use crate::sys::pagemap::{
    COPIED, COPIED_IN_MEMORY, EXISTING, LOOK, PRESENT, Question, TAKE, WrittenScan,
};
use crate::sys::uffd::{self, Faults, OpenError, Origin, Uffd, WP_ASYNC, WP_UNPOPULATED};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The tracker `uffd-async`, the best one. It needs Linux 6.7, and no privilege.
pub(super) struct UffdAsync {
    live: Live,
    kernel: Arc<Kernel>,
    origin: Origin,
    /// The pages of chunks that are armed. `harvest` scans these for written pages.
    armed: PageSet,
    /// The pages that the gate of deferred capture watches.
    suspended: PageSet,
    /// The pages of chunks that are private mappings of a file without copies. They are registered,
    /// but not armed: a store makes a copy, and `harvest` scans these for copies.
    uncopied: PageSet,
    /// The memory of an adopted array that is registered.
    claims: Option<Claims>,
}

/// The descriptors, which trackers of several spans share.
struct Kernel {
    uffd: Uffd,
    scan: Lock<WrittenScan>,
}

impl UffdAsync {
    pub fn new(span: Span) -> Result<Self, OpenFailed> {
        Self::with_scan(span, WrittenScan::open().map_err(OpenFailed::Pagemap)?)
    }

    /// Creates a tracker that uses the given scan.
    pub fn with_scan(span: Span, scan: WrittenScan) -> Result<Self, OpenFailed> {
        let (uffd, origin) = uffd::open(Faults::User, WP_ASYNC | WP_UNPOPULATED)?;
        let scan = Lock::new(scan);
        Ok(Self::with_kernel(
            span,
            Arc::new(Kernel { uffd, scan }),
            origin,
        ))
    }

    fn with_kernel(span: Span, kernel: Arc<Kernel>, origin: Origin) -> Self {
        UffdAsync {
            live: Live::new(span),
            kernel,
            origin,
            armed: PageSet::new(span.pages),
            suspended: PageSet::new(span.pages),
            uncopied: PageSet::new(span.pages),
            claims: None,
        }
    }

    /// Returns how the descriptor was obtained.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    #[cfg(test)]
    pub fn scan(&self) -> crate::sys::lock::Guard<'_, WrittenScan> {
        self.kernel.scan.lock()
    }
}

/// The reason why this tracker cannot be created.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenFailed {
    #[error(transparent)]
    Uffd(#[from] OpenError),
    #[error("/proc/self/pagemap cannot be opened: {0}")]
    Pagemap(io::Error),
}

/// The mechanism that notices stores to a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    /// Its protection: the page is armed.
    Protection,
    /// The copy that a store makes of a page of a file: the page is uncopied.
    Copies,
    /// The gate of deferred capture: the page is suspended.
    Gate,
}

impl UffdAsync {
    /// Makes the kernel watch `pages` in another way. After an error the sets are as before.
    fn watch_by(&mut self, watch: Watch, pages: &Range<usize>) -> Result<(), TrackError> {
        let range = self.live.span().addresses(pages);
        let (asked, what) = match watch {
            Watch::Protection => (
                uffd::watch(&self.kernel.uffd, &range),
                "taking pages back from deferred capture",
            ),
            Watch::Copies => (
                uffd::register(&self.kernel.uffd, &range),
                "tracking pages that are shared with a plane",
            ),
            Watch::Gate => (
                uffd::unwatch(&self.kernel.uffd, &range),
                "handing pages to deferred capture",
            ),
        };
        asked.map_err(failed(what))?;
        self.note(watch, pages);
        Ok(())
    }

    /// Moves `pages` to the set of those that are watched in this way.
    fn note(&mut self, watch: Watch, pages: &Range<usize>) {
        for (set, of) in [
            (&mut self.armed, Watch::Protection),
            (&mut self.uncopied, Watch::Copies),
            (&mut self.suspended, Watch::Gate),
        ] {
            if of == watch {
                set.insert_range(pages.clone());
                set.settle();
            } else {
                set.remove_range(pages.clone());
            }
        }
    }

    /// Arms the chunks in which pages exist now, and adds these pages to `written`.
    fn arm_existing(&mut self, written: &mut PageSet) -> io::Result<()> {
        let mut unarmed = self.live.tracked().clone();
        unarmed.subtract(&self.armed);
        unarmed.subtract(&self.suspended);
        unarmed.subtract(&self.uncopied);
        let mut found = PageSet::new(unarmed.capacity());
        self.scan_each(&unarmed, &EXISTING, &mut found)?;
        written.union(&found);
        self.widen_to_chunks(&mut found, &unarmed);
        for run in found.runs() {
            uffd::protect(&self.kernel.uffd, &self.live.span().addresses(&run))?;
            self.armed.insert_range(run);
        }
        // The second scan finds stores that came between the first scan and the protection. Later
        // stores fault.
        self.scan_each(&found, &PRESENT, written)
    }

    /// Adds the copies in chunks that had none to `written`. Arms these chunks, which are tracked
    /// like all others from now on.
    fn take_copies(&mut self, written: &mut PageSet) -> io::Result<()> {
        let mut copies = PageSet::new(self.uncopied.capacity());
        self.scan_each(&self.uncopied.clone(), &COPIED, &mut copies)?;
        let chunks: Vec<usize> = copies.chunks_in_use().map(|(chunk, _)| chunk).collect();
        written.union(&copies);
        for chunk in chunks {
            let pages = chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES;
            self.arm_copied(&pages, written)?;
            self.uncopied.remove_range(pages.clone());
            self.armed.insert_range(pages);
        }
        Ok(())
    }

    /// Arms a chunk in which a store has made a copy. The store may also have split a huge page, so
    /// that the other pages must be mapped again. While a range is not registered, the kernel maps
    /// many of them at once.
    fn arm_copied(&mut self, pages: &Range<usize>, written: &mut PageSet) -> io::Result<()> {
        let range = self.live.span().addresses(pages);
        uffd::unwatch(&self.kernel.uffd, &range)?;
        // Pages that cannot be mapped now cause a fault later.
        let _ = read_ahead(&range);
        uffd::watch(&self.kernel.uffd, &range)?;
        // This finds stores that came since the first scan. Later stores fault.
        let span = self.live.span();
        let mut scan = self.kernel.scan.lock();
        scan.scan(range, &COPIED_IN_MEMORY, |found| {
            written.insert_range(span.pages_at(&found));
        })
    }

    /// Extends `set` to all pages of `within` that lie in a chunk with a page of `set`.
    fn widen_to_chunks(&self, set: &mut PageSet, within: &PageSet) {
        let chunks: Vec<usize> = set.chunks_in_use().map(|(chunk, _)| chunk).collect();
        for chunk in chunks {
            *set.chunk_mut(chunk) = *within.chunk(chunk);
        }
    }

    /// Adds the pages that were written in armed chunks to `written`, and arms them again, except
    /// those that are expected to be written.
    fn take(&mut self, expected: &PageSet, written: &mut PageSet) -> io::Result<()> {
        let (quiet, busy) = split_by_chunk(&self.armed, expected);
        self.scan_each(&quiet, &TAKE, written)?;
        if busy.is_empty() {
            return Ok(());
        }
        let mut found = PageSet::new(busy.capacity());
        self.scan_each(&busy, &LOOK, &mut found)?;
        written.union(&found);
        // The scan with LOOK armed nothing, so no store is lost between it and the next scan.
        found.subtract(expected);
        let spans = widen(&found, &busy, expected);
        self.scan_each(&spans, &TAKE, written)
    }

    fn scan_each(
        &mut self,
        pages: &PageSet,
        question: &Question,
        out: &mut PageSet,
    ) -> io::Result<()> {
        let span = self.live.span();
        let mut scan = self.kernel.scan.lock();
        pages.runs().try_for_each(|run| {
            scan.scan(span.addresses(&run), question, |found| {
                out.insert_range(span.pages_at(&found));
            })
        })
    }
}

/// Returns `pages` extended by the gaps between them. A gap is added if it lies within one chunk,
/// is wholly in `within`, and holds no page of `but`. Scanning a few long runs costs less than
/// scanning many short ones.
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

/// Splits `set` into its pages in chunks without a page of `marks`, and those in chunks with one.
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

    fn tracked(&self) -> &PageSet {
        self.live.tracked()
    }

    fn beside(&self, span: Span) -> Box<dyn Tracker> {
        let claims = Some(Claims::default());
        Box::new(UffdAsync {
            claims,
            ..Self::with_kernel(span, self.kernel.clone(), self.origin)
        })
    }

    unsafe fn track(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        let range = self.live.span().addresses(pages);
        uffd::register_small(&self.kernel.uffd, &range)
            .map_err(failed("registering live memory"))?;
        Claims::take_from_others(&range);
        if let Some(claims) = &self.claims {
            claims.add(range);
        }
        self.live.track(pages);
        Ok(())
    }

    fn harvest(&mut self, expected: &PageSet, found: &mut Harvest) -> Result<(), TrackError> {
        self.claims.as_ref().map_or(Ok(()), Claims::check)?;
        // Also those that the gate watches: copiers read them after the call.
        self.live.check()?;
        let written = &mut found.written;
        // Armed chunks come first. Chunks that are armed below are reported there.
        self.take(expected, written)
            .and_then(|()| self.take_copies(written))
            .map_err(failed("scanning for written pages"))?;
        self.arm_existing(written).map_err(failed(
            "protecting pages that were written for the first time",
        ))?;
        self.live.add_pinned(written);
        found.unarmed.union(expected);
        Ok(())
    }

    fn settle(&mut self, _captured: &PageSet) -> Result<(), TrackError> {
        self.live.check_process() // the harvest has armed the pages already
    }

    fn suspend(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.watch_by(Watch::Gate, pages)
    }

    fn resume(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.watch_by(Watch::Protection, pages)
    }

    fn resume_uncopied(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.watch_by(Watch::Copies, pages)
    }

    fn check(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.claims.as_ref().map_or(Ok(()), Claims::check)?;
        self.live.check_pages(pages)?;
        let mut asked = PageSet::new(self.armed.capacity());
        asked.insert_range(pages.clone());
        asked.intersect(&self.armed);
        let mut ignored = PageSet::new(self.armed.capacity());
        self.scan_each(&asked, &LOOK, &mut ignored)
            .map_err(failed("a part was replaced by other memory"))
    }

    fn forget(&mut self, pages: &Range<usize>) {
        self.claims = self.claims.take().map(|_| Claims::default());
        // Where it is unmapped, or mapped to other memory, there is nothing to end.
        let _ = uffd::unwatch(&self.kernel.uffd, &self.live.span().addresses(pages));
        self.live.forget(pages);
        for set in [&mut self.armed, &mut self.suspended, &mut self.uncopied] {
            set.remove_range(pages.clone());
        }
    }

    fn pin(&mut self, pages: Range<usize>) {
        self.live.pin(pages);
    }
}
