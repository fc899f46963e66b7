//! Live memory that is shared with planes: private mappings of them, so that a page that is not
//! written exists once.
//!
//! One rule keeps this sound. Of the pages that are shared, a version captures only those whose
//! bytes differ from the newest version's. A page that is still shared is the frame itself, so it
//! has the bytes of the frame and is not captured. The newest version therefore goes on referring
//! to the frame, which is neither written nor given back (I1, I11). The producer need not know
//! which pages have been copied since they were shared, except where the program drops copies
//! ([`super::dropped`]).

use super::rounds::Rounds;
use std::collections::BTreeMap;
use std::ops::Range;
use tcasm_core::pageset::{CHUNK_PAGES, ChunkBits, PageSet};

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
    /// At least the number of mappings. Counted only when it reaches the limit.
    mappings: usize,
    /// The most mappings, 0 if sharing is off.
    most: usize,
    /// The search for pages that should be copies but are not.
    pub(super) rounds: Rounds,
}

impl SharedPages {
    /// Returns the set for a region of `pages` pages. Nothing is ever shared if `allowed` is false.
    pub(crate) fn new(pages: usize, allowed: bool) -> Self {
        SharedPages {
            pages: PageSet::new(pages),
            planes: BTreeMap::new(),
            mappings: 0,
            most: if allowed { MAPPINGS } else { 0 },
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
        self.mappings < self.most
    }

    /// Records that a version has captured `pages`. Their bytes differed from the newest version,
    /// so they have been copied and are not shared any more.
    pub(crate) fn captured(&mut self, pages: &PageSet) {
        self.pages.subtract(pages);
    }

    /// Returns the pages that may be shared, each with its plane. For tests.
    #[cfg(feature = "test-knobs")]
    pub(crate) fn frames(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.pages
            .iter()
            .map(|page| (self.planes[&(page / CHUNK_PAGES)], page))
    }

    /// Returns the pages of the chunks in `pages` that are mapped to a plane. Neighbouring chunks
    /// form one run.
    pub(super) fn runs_in(&self, pages: &Range<usize>) -> Vec<Range<usize>> {
        let chunks = pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES);
        let mut found = PageSet::new(self.pages.chunks());
        self.planes
            .range(chunks)
            .for_each(|(chunk, _)| found.insert(*chunk));
        let pages = |run: Range<usize>| run.start * CHUNK_PAGES..run.end * CHUNK_PAGES;
        found.runs().map(pages).collect()
    }

    /// Records that `pages`, whole chunks, are one mapping of plane number `plane`, except for
    /// those in `own`, which have copies.
    pub(super) fn add(&mut self, pages: &Range<usize>, plane: usize, own: &PageSet) {
        self.forget(pages);
        self.pages.insert_range(pages.clone());
        self.pages.subtract(own);
        for chunk in pages.start / CHUNK_PAGES..pages.end / CHUNK_PAGES {
            self.planes.insert(chunk, plane);
        }
        self.mappings += 1;
        if self.mappings >= self.most {
            self.mappings = self.count_mappings();
        }
    }

    /// Returns the number of mappings. Neighbouring chunks of one plane are one.
    fn count_mappings(&self) -> usize {
        let mut before = None;
        let begins = |(chunk, plane): (&usize, &usize)| {
            let joins = before.replace((chunk + 1, *plane)) == Some((*chunk, *plane));
            usize::from(!joins)
        };
        self.planes.iter().map(begins).sum()
    }

    /// Records that `pages`, whole chunks, are not mapped to planes any more.
    pub(super) fn forget(&mut self, pages: &Range<usize>) {
        self.pages.remove_range(pages.clone());
        for chunk in pages.start / CHUNK_PAGES..pages.end / CHUNK_PAGES {
            self.planes.remove(&chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(chunks: Range<usize>) -> Range<usize> {
        chunks.start * CHUNK_PAGES..chunks.end * CHUNK_PAGES
    }

    #[test]
    fn there_is_room_however_often_chunks_were_shared_before() {
        let capacity = 8 * CHUNK_PAGES;
        let (mut shared, own) = (SharedPages::new(capacity, true), PageSet::new(capacity));
        shared.add(&chunks(5..6), 0, &own);
        for _ in 0..2 * MAPPINGS {
            shared.add(&chunks(0..2), 1, &own);
            shared.forget(&chunks(1..2));
            assert!(shared.has_room());
        }
    }

    #[test]
    fn neighbouring_chunks_of_one_plane_are_one_mapping() {
        let capacity = 8 * CHUNK_PAGES;
        let (mut shared, own) = (SharedPages::new(capacity, true), PageSet::new(capacity));
        for (part, plane) in [(0..2, 1), (2..4, 1), (4..5, 0), (6..8, 0)] {
            shared.add(&chunks(part), plane, &own);
        }
        assert_eq!(shared.count_mappings(), 3);
        shared.forget(&chunks(1..2));
        assert_eq!(shared.count_mappings(), 4);
        shared.most = 4;
        shared.add(&chunks(7..8), 0, &own);
        assert!(!shared.has_room());
    }
}
