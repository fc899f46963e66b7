//! Live memory that is shared with planes: private mappings of them, so that a page that is not
//! written exists once.
//!
//! One rule keeps this sound. Of the pages that are shared, a version captures only those whose
//! bytes differ from the newest version's. A page that is still shared is the frame itself, so it
//! has the bytes of the frame and is not captured. The newest version therefore goes on referring
//! to the frame, which is neither written nor given back (I1, I11). The producer need not know
//! which pages have been copied since they were shared, except where the program drops copies
//! ([`super::dropped`]).

use super::LiveMemory;
use super::dropped::Rounds;
use std::collections::BTreeMap;
use std::ops::Range;
use tcasm_core::pageset::{CHUNK_PAGES, ChunkBits, PageSet};
use tcasm_core::planes::PlaneMemory;
use tcasm_core::track::TrackError;

/// The most separate mappings that shared chunks may take. The kernel limits the mappings of a
/// process.
const MAPPINGS: usize = 8192;

/// The pages of live memory that are shared with planes.
#[derive(Debug)]
pub(crate) struct SharedPages {
    /// Pages that may be shared: all that are, and perhaps some that were written since the last
    /// version.
    pages: PageSet,
    /// The chunks that are mapped to a plane, each with the number of its plane.
    planes: BTreeMap<usize, usize>,
    mappings: usize,
    /// The search for pages that should be copies but are not.
    pub(crate) rounds: Rounds,
}

impl SharedPages {
    pub(crate) fn new(pages: usize) -> Self {
        SharedPages {
            pages: PageSet::new(pages),
            planes: BTreeMap::new(),
            mappings: 0,
            rounds: Rounds::new(),
        }
    }

    /// Returns the pages that may be shared.
    pub(crate) fn pages(&self) -> &PageSet {
        &self.pages
    }

    /// Returns how many chunks are mapped to planes.
    pub(crate) fn chunks(&self) -> usize {
        self.planes.len()
    }

    /// Returns the plane to which `chunk` is mapped.
    pub(crate) fn plane(&self, chunk: usize) -> Option<usize> {
        self.planes.get(&chunk).copied()
    }

    /// Returns the first chunk at or after `chunk` that is mapped to a plane. Starts again at chunk
    /// 0 if there is none.
    pub(crate) fn next_from(&self, chunk: usize) -> Option<usize> {
        let from = |start| self.planes.range(start..).next().map(|(chunk, _)| *chunk);
        from(chunk).or_else(|| from(0))
    }

    /// Returns the pages of `chunk`, which is mapped to a plane, that have copies of their own.
    pub(crate) fn copies(&self, chunk: usize) -> ChunkBits {
        self.pages.chunk(chunk).map(|word| !word)
    }

    /// Returns true if more mappings are allowed.
    pub(crate) fn has_room(&self) -> bool {
        self.mappings < MAPPINGS
    }

    /// Records that a version has captured `pages`. Their bytes differed from the newest version,
    /// so they have been copied and are not shared any more.
    pub(crate) fn captured(&mut self, pages: &PageSet) {
        self.pages.subtract(pages);
    }

    /// Returns the pages that may be shared, each with its plane. For tests.
    pub(crate) fn frames(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.pages
            .iter()
            .map(|page| (self.planes[&(page / CHUNK_PAGES)], page))
    }

    /// Returns the pages of the chunks in `pages` that are mapped to a plane. Neighbouring chunks
    /// form one run.
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

impl LiveMemory {
    /// Shares `pages`, whole chunks, with plane number `plane`, whose memory is `memory`. The pages
    /// in `own` get copies of their own instead. After an error the pages may be shared or not.
    ///
    /// # Safety
    /// - Nobody writes during the call.
    /// - No device has the pages locked for DMA.
    /// - The newest version has all of `pages` but those in `own` in that plane, with the bytes
    ///   that live memory has.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn share(
        &mut self,
        pages: &Range<usize>,
        (plane, memory): (usize, &PlaneMemory),
        own: &PageSet,
    ) -> Result<(), TrackError> {
        self.shared.forget(pages);
        // SAFETY: the caller keeps the obligations of this function, which are those of
        // `Tracker::share`. The plane goes on holding the bytes, by the rule at the top of this
        // file.
        let shared = unsafe { self.tracker.share(pages, memory.fd(), own) };
        self.shared.pages.insert_range(pages.clone());
        self.shared.pages.subtract(own);
        for chunk in pages.start / CHUNK_PAGES..pages.end / CHUNK_PAGES {
            self.shared.planes.insert(chunk, plane);
        }
        self.shared.mappings += 1;
        if shared.is_err() {
            self.resume(pages.clone());
        }
        shared
    }

    /// Gives the shared chunks of `pages` private memory again. It is other memory than before,
    /// unless some of it may be locked for DMA: then the pages are copied in place.
    ///
    /// # Safety
    /// Nobody writes during the call.
    #[allow(unsafe_code)]
    pub(super) unsafe fn own(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        for run in self.shared.runs_in(pages) {
            let owned = match self.dma.reason() {
                Some(_) => self.tracker.own_in_place(&run),
                // SAFETY: the caller promises that nobody writes during the call. No device has
                // memory locked for DMA.
                None => unsafe { self.tracker.own(&run) },
            };
            if let Err(error) = owned {
                self.resume(run);
                return Err(error);
            }
            self.shared.forget(&run);
        }
        Ok(())
    }

    /// Copies the shared pages of the chunks in `pages` in place, for memory that may be locked for
    /// DMA. Returns the chunks concerned. The tracker may report their pages as written although
    /// they were not.
    pub(crate) fn own_in_place(&mut self, pages: &Range<usize>) -> Vec<Range<usize>> {
        let runs = self.shared.runs_in(pages);
        for run in &runs {
            match self.tracker.own_in_place(run) {
                Ok(()) => self.shared.forget(run),
                // The pages are still shared. A device that has them locked makes the kernel copy
                // them first.
                Err(error) => tracing::warn!(%error, "pages {run:?} stay shared with a plane"),
            }
        }
        runs
    }
}
