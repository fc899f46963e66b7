//! Live memory that rests on planes: private mappings of them, so that what is not written exists once.
//!
//! What keeps this sound is one rule: of pages that rest here, a version captures only those whose
//! bytes differ from the newest version's. A page that still rests on its slot has that slot's
//! bytes, so it is not captured, and the newest version goes on referring to the slot, which is
//! thus neither written nor given back (I1). Which pages have been copied since matters only where
//! the program drops copies ([`crate::dropped`]).

use crate::dropped::Rounds;
use crate::region::Region;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};
use tcasm_core::pageset::{CHUNK_PAGES, ChunkBits, PageSet};
use tcasm_core::planes::PlaneMemory;
use tcasm_core::sys::pins;
use tcasm_core::track::TrackError;

/// Separate mappings at most: they are limited.
const MAPPINGS: usize = 8192;

/// What rests where.
#[derive(Debug)]
pub(crate) struct Resting {
    /// Pages that may rest: all those that do, and perhaps some that were written since the last version.
    pages: PageSet,
    /// Chunks that are mapped to a plane, and to which.
    planes: BTreeMap<usize, usize>,
    mappings: usize,
    /// Looks for pages that ought to be copies, and are not.
    pub(crate) rounds: Rounds,
}

impl Resting {
    pub(crate) fn new(pages: usize) -> Self {
        Resting {
            pages: PageSet::new(pages),
            planes: BTreeMap::new(),
            mappings: 0,
            rounds: Rounds::new(),
        }
    }

    /// Pages that may rest.
    pub(crate) fn pages(&self) -> &PageSet {
        &self.pages
    }

    /// How many chunks are mapped to planes.
    pub(crate) fn chunks(&self) -> usize {
        self.planes.len()
    }

    /// The plane to which `chunk` is mapped.
    pub(crate) fn plane(&self, chunk: usize) -> Option<usize> {
        self.planes.get(&chunk).copied()
    }

    /// The first chunk from `chunk` on that is mapped to a plane, going round.
    pub(crate) fn next_from(&self, chunk: usize) -> Option<usize> {
        let from = |start| self.planes.range(start..).next().map(|(chunk, _)| *chunk);
        from(chunk).or_else(|| from(0))
    }

    /// The pages of `chunk`, which is mapped to a plane, that have copies of their own.
    pub(crate) fn copies(&self, chunk: usize) -> ChunkBits {
        self.pages.chunk(chunk).map(|word| !word)
    }

    /// Whether there may be more mappings.
    pub(crate) fn has_room(&self) -> bool {
        self.mappings < MAPPINGS
    }

    /// A version has captured `pages`, because their bytes differed: they have been copied.
    pub(crate) fn captured(&mut self, pages: &PageSet) {
        self.pages.subtract(pages);
    }

    /// Pages that may rest, with the plane: for tests.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.pages
            .iter()
            .map(|page| (self.planes[&(page / CHUNK_PAGES)], page))
    }

    /// Chunks of `pages` that are mapped to a plane, neighbours together.
    fn runs_in(&self, pages: &Range<usize>) -> Vec<Range<usize>> {
        let chunks = pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES);
        let mut found = PageSet::new(self.pages.chunks());
        self.planes
            .range(chunks)
            .for_each(|(chunk, _)| found.insert(*chunk));
        let pages = |run: Range<usize>| run.start * CHUNK_PAGES..run.end * CHUNK_PAGES;
        found.runs().map(pages).collect()
    }

    fn forget(&mut self, pages: &Range<usize>) {
        self.pages.remove_range(pages.clone());
        for chunk in pages.start / CHUNK_PAGES..pages.end / CHUNK_PAGES {
            self.planes.remove(&chunk);
        }
        if self.planes.is_empty() {
            self.mappings = 0;
        }
    }
}

/// How long an answer holds within a publish: no longer than it takes to move a few chunks.
const FRESH: Duration = Duration::from_millis(10);

/// Whether devices may have pinned live memory. With many open files it takes long to find out, so
/// what comes right after a look shares its answer. No answer outlives the publish: a device may be
/// opened, and told of the memory, right after it.
#[derive(Debug, Default)]
pub(crate) struct Pinned {
    answer: Option<(Instant, Option<String>)>,
    taken: Duration,
}

impl Pinned {
    /// Forgets the answer: the program has run since.
    pub(crate) fn forget(&mut self) {
        self.answer = None;
    }

    /// Returns why some memory may be pinned; none: no memory is.
    pub(crate) fn reason(&mut self) -> Option<String> {
        if let Some((at, reason)) = &self.answer
            && at.elapsed() < FRESH
        {
            return reason.clone();
        }
        let start = Instant::now();
        let reason = pins::suspect();
        self.taken += start.elapsed();
        self.answer = Some((start, reason.clone()));
        reason
    }

    /// Returns how long looks took since the last call.
    pub(crate) fn take_time(&mut self) -> Duration {
        std::mem::take(&mut self.taken)
    }
}

impl Region {
    /// Let `pages`, whole chunks, rest on `memory`, plane number `plane`, but for those in `own`. After an error they may rest
    /// there or not.
    ///
    /// # Safety
    /// Nobody may write during the call, and no device have pinned the pages. The newest version must have all of `pages` but
    /// for `own` in that plane, with the bytes that they have.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn rest(
        &mut self,
        pages: &Range<usize>,
        (plane, memory): (usize, &PlaneMemory),
        own: &PageSet,
    ) -> Result<(), TrackError> {
        self.resting.forget(pages);
        // SAFETY: the caller's promise; and the plane goes on holding the bytes, by the rule above.
        let rested = unsafe { self.tracker.rest(pages, memory.fd(), own) };
        self.resting.pages.insert_range(pages.clone());
        self.resting.pages.subtract(own);
        for chunk in pages.start / CHUNK_PAGES..pages.end / CHUNK_PAGES {
            self.resting.planes.insert(chunk, plane);
        }
        self.resting.mappings += 1;
        if rested.is_err() {
            self.resume(pages.clone());
        }
        rested
    }

    /// Take back what rests in the chunks of `pages`: other memory, as it was before it rested, unless a device may have pinned
    /// some of it. Nobody may write during the call.
    #[allow(unsafe_code)]
    pub(crate) fn own(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        for run in self.resting.runs_in(pages) {
            let owned = match self.pinned.reason() {
                Some(_) => self.tracker.own_in_place(&run),
                // SAFETY: nobody writes, as the caller says; no device has pinned anything.
                None => unsafe { self.tracker.own(&run) },
            };
            if let Err(error) = owned {
                self.resume(run);
                return Err(error);
            }
            self.resting.forget(&run);
        }
        Ok(())
    }

    /// The same where devices may have pinned pages, which stay where they are then. Returns the chunks, pages of which may be
    /// reported as written although they were not.
    pub(crate) fn own_in_place(&mut self, pages: &Range<usize>) -> Vec<Range<usize>> {
        let runs = self.resting.runs_in(pages);
        for run in &runs {
            match self.tracker.own_in_place(run) {
                Ok(()) => self.resting.forget(run),
                // They rest as before. What devices write they copy first.
                Err(error) => tracing::warn!(%error, "pages {run:?} go on resting on a plane"),
            }
        }
        runs
    }
}
