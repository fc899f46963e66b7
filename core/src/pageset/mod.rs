//! A set of pages of a region, at the cost of what is in it: the size of the region costs nothing.
//!
//! Page maps, changed sets and capture work by the *chunk* (2 MiB); a set keeps bitmaps of chunks by the *block* of 64.
//! Blocks without pages are not there, and clones share blocks until one of them changes: a clone copies no bitmap.

mod block;
mod runs;
#[cfg(test)]
mod tests;

pub use runs::{Runs, runs_of};

use block::{BLOCK_CHUNKS, BLOCK_PAGES, Block};
use std::ops::Range;
use std::sync::Arc;

/// Pages of one chunk: page maps, changed sets and capture all work in this unit (2 MiB of 4 KiB pages).
pub const CHUNK_PAGES: usize = 512;
/// 64-bit words of the bitmap of one chunk.
pub const CHUNK_WORDS: usize = CHUNK_PAGES / 64;

/// The bitmap of one chunk.
pub type ChunkBits = [u64; CHUNK_WORDS];

/// A set of numbers of chunks: the same thing, for numbers that are fewer.
pub type ChunkSet = PageSet;

const NO_PAGES: ChunkBits = [0; CHUNK_WORDS];

/// A set of page numbers below `pages`.
#[derive(Clone)]
pub struct PageSet {
    pages: usize,
    /// The blocks that may have pages, with their numbers, which ascend.
    blocks: Vec<(usize, Arc<Block>)>,
}

impl PageSet {
    /// The empty set over a region of `pages` pages.
    pub fn new(pages: usize) -> Self {
        PageSet {
            pages,
            blocks: Vec::new(),
        }
    }

    /// Number of pages the set may speak of.
    pub fn capacity(&self) -> usize {
        self.pages
    }

    /// Number of chunks, the last one possibly in part.
    pub fn chunks(&self) -> usize {
        self.pages.div_ceil(CHUNK_PAGES)
    }

    /// The chunks that have pages in the set, in order, with their bitmaps.
    pub fn chunks_in_use(&self) -> impl Iterator<Item = (usize, &ChunkBits)> + Clone {
        self.blocks.iter().flat_map(|(n, block)| {
            let first = n * BLOCK_CHUNKS;
            block.chunks_in_use().map(move |(i, c)| (first + i, c))
        })
    }

    /// The bitmap of one chunk.
    pub fn chunk(&self, chunk: usize) -> &ChunkBits {
        let block = self.block(chunk / BLOCK_CHUNKS);
        block.map_or(&NO_PAGES, |b| b.chunk(chunk % BLOCK_CHUNKS))
    }

    /// The bitmap of one chunk, writable. Bits past the last page must stay 0.
    pub fn chunk_mut(&mut self, chunk: usize) -> &mut ChunkBits {
        debug_assert!(chunk < self.chunks(), "chunk {chunk} of {}", self.chunks());
        self.block_mut(chunk / BLOCK_CHUNKS)
            .chunk_mut(chunk % BLOCK_CHUNKS)
    }

    /// Whether `page` is in the set.
    pub fn contains(&self, page: usize) -> bool {
        self.chunk(page / CHUNK_PAGES)[page % CHUNK_PAGES / 64] >> (page % 64) & 1 == 1
    }

    /// Add one page.
    pub fn insert(&mut self, page: usize) {
        self.insert_range(page..page + 1);
    }

    /// Add a range of pages; what lies past the end is left out.
    pub fn insert_range(&mut self, range: Range<usize>) {
        for (n, part) in parts(range.start..range.end.min(self.pages)) {
            if part.len() < BLOCK_PAGES {
                self.block_mut(n).insert(part);
            } else {
                match self.find(n) {
                    Ok(at) => self.blocks[at].1 = Block::full(),
                    Err(at) => self.blocks.insert(at, (n, Block::full())),
                }
            }
        }
    }

    /// Take a range of pages out.
    pub fn remove_range(&mut self, range: Range<usize>) {
        // Past the last page, too, where `trim` finds bits.
        let end = range.end.min(self.chunks() * CHUNK_PAGES);
        for (n, part) in parts(range.start..end) {
            let Ok(at) = self.find(n) else {
                continue;
            };
            let whole = part.len() == BLOCK_PAGES;
            if !whole {
                Arc::make_mut(&mut self.blocks[at].1).remove(part);
            }
            if whole || self.blocks[at].1.is_empty() {
                self.blocks.remove(at);
            }
        }
    }

    /// Add all of `other`, a set over the same region.
    pub fn union(&mut self, other: &PageSet) {
        debug_assert_eq!(self.pages, other.pages);
        for (n, theirs) in &other.blocks {
            match self.find(*n) {
                Ok(at) if Arc::ptr_eq(&self.blocks[at].1, theirs) => {}
                Ok(at) => Arc::make_mut(&mut self.blocks[at].1).union(theirs),
                Err(at) => self.blocks.insert(at, (*n, theirs.clone())),
            }
        }
    }

    /// Take all of `other` out.
    pub fn subtract(&mut self, other: &PageSet) {
        self.blocks.retain_mut(|(n, block)| match other.block(*n) {
            Some(theirs) if Arc::ptr_eq(block, theirs) || Block::is_full(theirs) => false,
            Some(theirs) => {
                Arc::make_mut(block).subtract(theirs);
                !block.is_empty()
            }
            None => true,
        });
    }

    /// Keep only what is also in `other`.
    pub fn intersect(&mut self, other: &PageSet) {
        self.blocks.retain_mut(|(n, block)| match other.block(*n) {
            Some(theirs) if Arc::ptr_eq(block, theirs) || Block::is_full(theirs) => true,
            Some(theirs) => {
                Arc::make_mut(block).intersect(theirs);
                !block.is_empty()
            }
            None => false,
        });
    }

    /// Take out whatever lies past the last page: for bits that came from outside.
    pub fn trim(&mut self) {
        self.remove_range(self.pages..usize::MAX);
    }

    /// Take everything out.
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Whether any page of the range is in the set.
    pub fn intersects(&self, range: Range<usize>) -> bool {
        self.words_in(range).any(|word| word != 0)
    }

    /// How many pages of the range are in the set.
    pub fn count_in(&self, range: Range<usize>) -> usize {
        self.words_in(range).map(|w| w.count_ones() as usize).sum()
    }

    /// Number of pages in the set.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|(_, block)| block.len()).sum()
    }

    /// Whether no page is in the set.
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().all(|(_, block)| block.is_empty())
    }

    /// The maximal runs of neighbouring pages, in order.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + Clone + '_ {
        runs::merged(self.blocks.iter().flat_map(|(n, block)| {
            let first = n * BLOCK_PAGES;
            Block::runs(block).map(move |r| first + r.start..first + r.end)
        }))
    }

    /// The page numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.runs().flatten()
    }

    /// Where block `n` stands, or would.
    fn find(&self, n: usize) -> Result<usize, usize> {
        // Where all blocks before it are there, it stands at its own number.
        match self.blocks.get(n) {
            Some((found, _)) if *found == n => Ok(n),
            _ => self.blocks.binary_search_by_key(&n, |(found, _)| *found),
        }
    }

    fn block(&self, n: usize) -> Option<&Arc<Block>> {
        self.find(n).ok().map(|at| &self.blocks[at].1)
    }

    fn block_mut(&mut self, n: usize) -> &mut Block {
        let at = self.find(n).unwrap_or_else(|at| {
            self.blocks.insert(at, (n, Arc::default()));
            at
        });
        Arc::make_mut(&mut self.blocks[at].1)
    }

    /// The words of the bitmap in `range`, without the bits that lie outside of it; some that are 0 are left out.
    fn words_in(&self, range: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        let end = range.end.div_ceil(BLOCK_PAGES);
        let from = self.find(range.start / BLOCK_PAGES).unwrap_or_else(|at| at);
        let blocks = self.blocks[from..]
            .iter()
            .take_while(move |(n, _)| *n < end);
        blocks.flat_map(move |(n, block)| block.words_in(part_of(&range, *n)))
    }
}

/// The numbers of the blocks that `range` meets, and its part in each, from the block's first page.
fn parts(range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let blocks = range.start / BLOCK_PAGES..range.end.div_ceil(BLOCK_PAGES);
    blocks.map(move |n| (n, part_of(&range, n)))
}

fn part_of(range: &Range<usize>, n: usize) -> Range<usize> {
    let at = |page: usize| page.saturating_sub(n * BLOCK_PAGES).min(BLOCK_PAGES);
    at(range.start)..at(range.end)
}

impl PartialEq for PageSet {
    fn eq(&self, other: &Self) -> bool {
        self.pages == other.pages && self.chunks_in_use().eq(other.chunks_in_use())
    }
}

impl Eq for PageSet {}

impl std::fmt::Debug for PageSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.runs()).finish()
    }
}
