//! A set of pages of a region, at the cost of what is in it: the size of the region costs nothing.
//!
//! Page maps, changed sets and capture work by the *chunk* (2 MiB); a set keeps bitmaps of chunks by the *block* of 64.
//! Blocks without pages are not there, rows of blocks with all pages need no bitmap, and clones share bitmaps until one of
//! them changes.

mod block;
mod pieces;
mod runs;
#[cfg(test)]
mod tests;

pub use block::BLOCK_PAGES;
pub use runs::{Runs, runs_of};

use block::{BLOCK_CHUNKS, Block};
use pieces::{Piece, combine};
use std::ops::Range;

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
    /// The blocks that may have pages, ascending.
    pieces: Vec<Piece>,
}

impl PageSet {
    /// The empty set over a region of `pages` pages.
    pub fn new(pages: usize) -> Self {
        PageSet {
            pages,
            pieces: Vec::new(),
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
        self.pieces.iter().flat_map(Piece::chunks_in_use)
    }

    /// The numbers of the chunks that have pages in the set.
    pub fn chunk_numbers(&self) -> ChunkSet {
        let mut numbers = ChunkSet::new(self.chunks());
        for piece in &self.pieces {
            piece.chunk_runs(|chunks| numbers.insert_range(chunks));
        }
        numbers
    }

    /// The longest ranges of which all pages are known to be in the set without looking at bitmaps.
    pub fn whole(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.pieces.iter().filter(|p| p.is_all()).map(Piece::pages)
    }

    /// Let blocks with all pages be known as such: for sets that are kept and used often.
    pub fn settle(&mut self) {
        let full: Vec<_> = self
            .pieces
            .iter()
            .filter(|p| p.is_full())
            .map(Piece::pages)
            .collect();
        full.into_iter().for_each(|pages| self.insert_range(pages));
    }

    /// The bitmap of one chunk.
    pub fn chunk(&self, chunk: usize) -> &ChunkBits {
        match self.find(chunk / BLOCK_CHUNKS) {
            Ok(at) => self.pieces[at].chunk(chunk),
            Err(_) => &NO_PAGES,
        }
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

    /// Take a range of pages out.
    pub fn remove_range(&mut self, range: Range<usize>) {
        // Past the last page, too, where `trim` finds bits.
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

    /// Add all of `other`, a set over the same region.
    pub fn union(&mut self, other: &PageSet) {
        debug_assert_eq!(self.pages, other.pages);
        if !other.pieces.iter().all(|piece| self.has_all(piece)) {
            self.combine(self.near(other), &other.pieces, pieces::union);
        }
    }

    /// Take all of `other` out.
    pub fn subtract(&mut self, other: &PageSet) {
        let theirs = &other.pieces[other.near(self)];
        self.combine(self.near(other), theirs, pieces::difference);
    }

    /// Keep only what is also in `other`.
    pub fn intersect(&mut self, other: &PageSet) {
        let theirs = &other.pieces[other.near(self)];
        self.combine(0..self.pieces.len(), theirs, pieces::intersection);
    }

    /// Take out whatever lies past the last page: for bits that came from outside.
    pub fn trim(&mut self) {
        self.remove_range(self.pages..usize::MAX);
    }

    /// Whether this is a clone of `other`, and neither has changed since: found out without looking at pages. False says
    /// nothing.
    pub fn is_clone_of(&self, other: &PageSet) -> bool {
        let same = |(a, b): (&Piece, &Piece)| a.blocks == b.blocks && a.content.is_same(&b.content);
        self.pieces.len() == other.pieces.len() && self.pieces.iter().zip(&other.pieces).all(same)
    }

    /// Take everything out.
    pub fn clear(&mut self) {
        self.pieces.clear();
    }

    /// Whether any page of the range is in the set.
    pub fn intersects(&self, range: Range<usize>) -> bool {
        self.pieces_in(&range)
            .any(|piece| piece.count_in(&range) != 0)
    }

    /// How many pages of the range are in the set.
    pub fn count_in(&self, range: Range<usize>) -> usize {
        self.pieces_in(&range)
            .map(|piece| piece.count_in(&range))
            .sum()
    }

    /// Number of pages in the set.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Piece::len).sum()
    }

    /// Whether no page is in the set.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(Piece::is_empty)
    }

    /// The maximal runs of neighbouring pages, in order.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + Clone + '_ {
        runs::merged(self.pieces.iter().flat_map(Piece::runs))
    }

    /// The page numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.runs().flatten()
    }

    /// Where the piece with block `n` stands, or would.
    fn find(&self, n: usize) -> Result<usize, usize> {
        // Where all blocks before it are there, each with a bitmap, it stands at its own number.
        if self.pieces.get(n).is_some_and(|p| p.blocks.start == n) {
            return Ok(n);
        }
        let at = self.pieces.partition_point(|p| p.blocks.end <= n);
        match self.pieces.get(at) {
            Some(piece) if piece.blocks.start <= n => Ok(at),
            _ => Err(at),
        }
    }

    /// The bitmap of block `n`, which becomes a piece of its own.
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

    /// Let no piece reach across the beginning of block `n`; returns where the pieces from there on stand.
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

    /// Take whole blocks out; returns where they stood.
    fn remove_blocks(&mut self, blocks: &Range<usize>) -> usize {
        let end = self.cut(blocks.end);
        // The second cut moves what the first one found.
        let (before, start) = (self.pieces.len(), self.cut(blocks.start));
        let end = end + self.pieces.len() - before;
        self.pieces.drain(start..end);
        start
    }

    /// Which pieces meet any of `blocks`.
    fn meeting(&self, blocks: Range<usize>) -> Range<usize> {
        let first = self
            .pieces
            .partition_point(|p| p.blocks.end <= blocks.start);
        let past = self.pieces.partition_point(|p| p.blocks.start < blocks.end);
        first..past.max(first)
    }

    /// Which pieces lie between the first and the last block of `other`.
    fn near(&self, other: &PageSet) -> Range<usize> {
        match (other.pieces.first(), other.pieces.last()) {
            (Some(first), Some(last)) => self.meeting(first.blocks.start..last.blocks.end),
            _ => 0..0,
        }
    }

    /// Whether all pages of a piece of another set are here, in one piece.
    fn has_all(&self, other: &Piece) -> bool {
        let mine = self.find(other.blocks.start).map(|at| &self.pieces[at]);
        mine.is_ok_and(|p| p.blocks.end >= other.blocks.end && p.content.has_all(&other.content))
    }

    /// Put in the place of the pieces `mine` what `rule` makes of them and `theirs`.
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

/// A part of a block: its number, and pages from its first one.
type Part = (usize, Range<usize>);

/// The blocks that `range` meets in part, at most two, and those that it covers.
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
