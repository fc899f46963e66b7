//! Sets of pages of a region. The cost of a set depends on its content, and not on the size of the
//! region.
//!
//! Page maps, changed sets and capture work in units of a *chunk* (2 MiB). A set keeps the bitmaps
//! of chunks in *blocks* of 64 chunks. Blocks without pages are not stored, a row of blocks with
//! all their pages needs no bitmap, and clones share bitmaps until one of them changes.

mod block;
mod chunk;
mod pieces;
mod runs;
#[cfg(test)]
mod tests;

pub use block::BLOCK_PAGES;
pub use chunk::{CHUNK_PAGES, CHUNK_WORDS, ChunkBits};
pub use runs::{Runs, runs_of};

use block::{BLOCK_CHUNKS, Block};
use pieces::{Piece, combine};
use std::ops::Range;

/// A set of chunk numbers. It is the same type as a set of pages, and holds smaller numbers.
pub type ChunkSet = PageSet;

const NO_PAGES: ChunkBits = [0; CHUNK_WORDS];

/// A set of page numbers below `pages`.
#[derive(Clone)]
pub struct PageSet {
    pages: usize,
    /// The pieces for the blocks that may have pages, in ascending order.
    pieces: Vec<Piece>,
}

impl PageSet {
    /// Creates an empty set for a region of `pages` pages.
    pub fn new(pages: usize) -> Self {
        PageSet {
            pages,
            pieces: Vec::new(),
        }
    }

    /// Returns the number of pages of the region.
    pub fn capacity(&self) -> usize {
        self.pages
    }

    /// Returns the number of chunks of the region, including a last one with fewer pages.
    pub fn chunks(&self) -> usize {
        self.pages.div_ceil(CHUNK_PAGES)
    }

    /// Returns the chunks that have pages in the set, in order, with their bitmaps.
    pub fn chunks_in_use(&self) -> impl Iterator<Item = (usize, &ChunkBits)> + Clone {
        self.pieces.iter().flat_map(Piece::chunks_in_use)
    }

    /// Returns the numbers of the chunks that have pages in the set.
    pub fn chunk_numbers(&self) -> ChunkSet {
        let mut numbers = ChunkSet::new(self.chunks());
        for piece in &self.pieces {
            piece.chunk_runs(|chunks| numbers.insert_range(chunks));
        }
        numbers
    }

    /// Returns the longest ranges whose pages are all known to be in the set without a check of
    /// bitmaps.
    pub fn whole(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.pieces.iter().filter(|p| p.is_all()).map(Piece::pages)
    }

    /// Finds the bitmaps that have all their pages, and drops them, because such blocks need none.
    /// This makes sets cheaper that are kept for long and used often.
    pub fn settle(&mut self) {
        let full: Vec<_> = self
            .pieces
            .iter()
            .filter(|p| p.is_full())
            .map(Piece::pages)
            .collect();
        full.into_iter().for_each(|pages| self.insert_range(pages));
    }

    /// Returns the bitmap of one chunk.
    pub fn chunk(&self, chunk: usize) -> &ChunkBits {
        match self.find(chunk / BLOCK_CHUNKS) {
            Ok(at) => self.pieces[at].chunk(chunk),
            Err(_) => &NO_PAGES,
        }
    }

    /// Returns the bitmap of one chunk for writing. Bits past the last page must stay 0.
    pub fn chunk_mut(&mut self, chunk: usize) -> &mut ChunkBits {
        debug_assert!(chunk < self.chunks(), "chunk {chunk} of {}", self.chunks());
        self.block_mut(chunk / BLOCK_CHUNKS)
            .chunk_mut(chunk % BLOCK_CHUNKS)
    }

    /// Returns true if all pages of `chunk` are in the set.
    pub fn is_full(&self, chunk: usize) -> bool {
        self.chunk(chunk).iter().all(|word| *word == !0)
    }

    /// Returns true if `page` is in the set.
    pub fn contains(&self, page: usize) -> bool {
        self.chunk(page / CHUNK_PAGES)[page % CHUNK_PAGES / 64] >> (page % 64) & 1 == 1
    }

    /// Adds one page.
    pub fn insert(&mut self, page: usize) {
        self.insert_range(page..page + 1);
    }

    /// Adds a range of pages. Pages past the end of the region are left out.
    pub fn insert_range(&mut self, range: Range<usize>) {
        let (parts, whole) = split(range.start..range.end.min(self.pages));
        for (n, part) in parts {
            if !matches!(self.find(n), Ok(at) if self.pieces[at].is_all()) {
                self.block_mut(n).insert(part);
            }
        }
        if !whole.is_empty() {
            let at = self.remove_blocks(&whole);
            self.pieces.insert(at, Piece::all(whole));
        }
    }

    /// Removes a range of pages.
    pub fn remove_range(&mut self, range: Range<usize>) {
        // The range may go past the last page, because `trim` removes bits there.
        let (parts, whole) = split(range.start..range.end.min(self.chunks() * CHUNK_PAGES));
        for (n, part) in parts {
            if self.find(n).is_ok() {
                self.block_mut(n).remove(part);
                self.drop_if_empty(n);
            }
        }
        if !whole.is_empty() {
            self.remove_blocks(&whole);
        }
    }

    /// Adds all pages of `other`, a set for the same region.
    pub fn union(&mut self, other: &PageSet) {
        debug_assert_eq!(self.pages, other.pages);
        if !other.pieces.iter().all(|piece| self.has_all(piece)) {
            self.combine(self.near(other), &other.pieces, pieces::union);
        }
    }

    /// Removes all pages of `other`.
    pub fn subtract(&mut self, other: &PageSet) {
        let theirs = &other.pieces[other.near(self)];
        self.combine(self.near(other), theirs, pieces::difference);
    }

    /// Keeps only the pages that are also in `other`.
    pub fn intersect(&mut self, other: &PageSet) {
        let theirs = &other.pieces[other.near(self)];
        self.combine(0..self.pieces.len(), theirs, pieces::intersection);
    }

    /// Removes bits past the last page. This is for bitmaps that come from another process.
    pub fn trim(&mut self) {
        self.remove_range(self.pages..usize::MAX);
    }

    /// Returns true if this is a clone of `other` and neither has changed since. The check does not
    /// compare pages, so sets with equal pages can give false.
    pub fn is_clone_of(&self, other: &PageSet) -> bool {
        let same = |(a, b): (&Piece, &Piece)| a.blocks == b.blocks && a.content.is_same(&b.content);
        self.pieces.len() == other.pieces.len() && self.pieces.iter().zip(&other.pieces).all(same)
    }

    /// Removes all pages.
    pub fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Returns true if any page of the range is in the set.
    pub fn intersects(&self, range: Range<usize>) -> bool {
        self.pieces_in(&range)
            .any(|piece| piece.count_in(&range) != 0)
    }

    /// Returns the number of pages of the range that are in the set.
    pub fn count_in(&self, range: Range<usize>) -> usize {
        self.pieces_in(&range)
            .map(|piece| piece.count_in(&range))
            .sum()
    }

    /// Returns the number of pages in the set.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Piece::len).sum()
    }

    /// Returns true if no page is in the set.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(Piece::is_empty)
    }

    /// Returns the maximal runs of neighbouring pages, in order.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + Clone + '_ {
        runs::merged(self.pieces.iter().flat_map(Piece::runs))
    }

    /// Returns the page numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.runs().flatten()
    }

    /// Returns the position of the piece with block `n`, or as an error the position at which such
    /// a piece would be inserted.
    fn find(&self, n: usize) -> Result<usize, usize> {
        // If all earlier blocks are stored as pieces of one block, the position is the number.
        if self.pieces.get(n).is_some_and(|p| p.blocks.start == n) {
            return Ok(n);
        }
        let at = self.pieces.partition_point(|p| p.blocks.end <= n);
        match self.pieces.get(at) {
            Some(piece) if piece.blocks.start <= n => Ok(at),
            _ => Err(at),
        }
    }

    /// Returns the bitmap of block `n` for writing. The block becomes a piece of its own.
    fn block_mut(&mut self, n: usize) -> &mut Block {
        let at = match self.find(n) {
            Ok(at) if self.pieces[at].blocks.len() == 1 => at,
            Ok(_) => {
                self.cut(n + 1);
                self.cut(n)
            }
            Err(at) => {
                self.pieces.insert(at, Piece::empty(n));
                at
            }
        };
        self.pieces[at].content.make_mut()
    }

    fn drop_if_empty(&mut self, n: usize) {
        if let Ok(at) = self.find(n)
            && self.pieces[at].is_empty()
        {
            self.pieces.remove(at);
        }
    }

    /// Splits the piece that reaches across the beginning of block `n`, if there is one. Returns
    /// the position of the first piece from block `n` on.
    fn cut(&mut self, n: usize) -> usize {
        match self.find(n) {
            Ok(at) if self.pieces[at].blocks.start < n => {
                let mut rest = self.pieces[at].clone();
                (self.pieces[at].blocks.end, rest.blocks.start) = (n, n);
                self.pieces.insert(at + 1, rest);
                at + 1
            }
            Ok(at) | Err(at) => at,
        }
    }

    /// Removes whole blocks, and returns the position at which they were.
    fn remove_blocks(&mut self, blocks: &Range<usize>) -> usize {
        let end = self.cut(blocks.end);
        // The second cut may move the position that the first one returned.
        let (before, start) = (self.pieces.len(), self.cut(blocks.start));
        let end = end + self.pieces.len() - before;
        self.pieces.drain(start..end);
        start
    }

    /// Returns the positions of the pieces that have any of `blocks`.
    fn meeting(&self, blocks: Range<usize>) -> Range<usize> {
        let first = self
            .pieces
            .partition_point(|p| p.blocks.end <= blocks.start);
        let past = self.pieces.partition_point(|p| p.blocks.start < blocks.end);
        first..past.max(first)
    }

    /// Returns the positions of the pieces between the first and the last block of `other`.
    fn near(&self, other: &PageSet) -> Range<usize> {
        match (other.pieces.first(), other.pieces.last()) {
            (Some(first), Some(last)) => self.meeting(first.blocks.start..last.blocks.end),
            _ => 0..0,
        }
    }

    /// Returns true if one piece of this set has all pages of `other`, a piece of another set.
    fn has_all(&self, other: &Piece) -> bool {
        let mine = self.find(other.blocks.start).map(|at| &self.pieces[at]);
        mine.is_ok_and(|p| p.blocks.end >= other.blocks.end && p.content.has_all(&other.content))
    }

    /// Replaces the pieces at the positions `mine` by the result of `rule` for them and `theirs`.
    fn combine(&mut self, mine: Range<usize>, theirs: &[Piece], rule: pieces::Rule) {
        let at = mine.start;
        let mine = self.pieces.drain(mine).collect();
        self.pieces.splice(at..at, combine(mine, theirs, rule));
    }

    fn pieces_in(&self, range: &Range<usize>) -> impl Iterator<Item = &Piece> {
        let blocks = range.start / BLOCK_PAGES..range.end.div_ceil(BLOCK_PAGES);
        self.pieces[self.meeting(blocks)].iter()
    }
}

/// A part of a block: the number of the block, and pages counted from its first page.
type Part = (usize, Range<usize>);

/// Returns the blocks that `range` covers in part, at most two, and those that it covers wholly.
fn split(range: Range<usize>) -> (impl Iterator<Item = Part>, Range<usize>) {
    let met = range.start / BLOCK_PAGES..range.end.div_ceil(BLOCK_PAGES);
    let first = range.start.div_ceil(BLOCK_PAGES);
    let whole = first..(range.end / BLOCK_PAGES).max(first);
    let part = move |n: usize| {
        let at = |page: usize| page.saturating_sub(n * BLOCK_PAGES).min(BLOCK_PAGES);
        (n, at(range.start)..at(range.end))
    };
    let ends = (met.start..met.end.min(whole.start)).chain(whole.end.max(met.start)..met.end);
    (ends.map(part), whole)
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
