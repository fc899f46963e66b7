//! A block: the bitmaps of 64 chunks, and a word that tells which of them may have pages.

use super::chunk::{CHUNK_PAGES, CHUNK_WORDS, ChunkBits};
use super::runs::runs_of;
use std::ops::Range;

/// The number of chunks of a block.
pub(super) const BLOCK_CHUNKS: usize = 64;
/// The number of pages of a block.
pub const BLOCK_PAGES: usize = BLOCK_CHUNKS * CHUNK_PAGES;

/// The pages of a block that are in a set.
#[derive(Clone)]
pub(super) struct Block {
    /// Bit `i` is set if chunk `i` may have pages; the bitmap of any other chunk is all zeros.
    used: u64,
    chunks: [ChunkBits; BLOCK_CHUNKS],
}

/// The block with all its pages.
pub(super) static FULL: Block = Block {
    used: !0,
    chunks: [[!0; CHUNK_WORDS]; BLOCK_CHUNKS],
};

impl Default for Block {
    fn default() -> Self {
        Block {
            used: 0,
            chunks: [[0; CHUNK_WORDS]; BLOCK_CHUNKS],
        }
    }
}

impl Block {
    pub fn chunk(&self, i: usize) -> &ChunkBits {
        &self.chunks[i]
    }

    pub fn chunk_mut(&mut self, i: usize) -> &mut ChunkBits {
        self.used |= 1 << i;
        &mut self.chunks[i]
    }

    /// Returns the chunks that have pages, with their bitmaps.
    pub fn chunks_in_use(&self) -> impl Iterator<Item = (usize, &ChunkBits)> + Clone {
        let chunks = ones(self.used).map(|i| (i, &self.chunks[i]));
        chunks.filter(|(_, chunk)| **chunk != [0; CHUNK_WORDS])
    }

    pub fn insert(&mut self, pages: Range<usize>) {
        for (word, mask) in masks(pages) {
            self.chunk_mut(word / CHUNK_WORDS)[word % CHUNK_WORDS] |= mask;
        }
    }

    pub fn remove(&mut self, pages: Range<usize>) {
        let touched = pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES);
        for (word, mask) in masks(pages) {
            self.chunks[word / CHUNK_WORDS][word % CHUNK_WORDS] &= !mask;
        }
        touched.for_each(|i| self.settle(i));
    }

    pub fn union(&mut self, other: &Block) {
        for (i, theirs) in other.chunks_in_use() {
            let mine = self.chunk_mut(i);
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a |= b);
        }
    }

    /// Returns true if this block has all pages of `other`.
    pub fn contains(&self, other: &Block) -> bool {
        other.used & !self.used == 0
            && ones(other.used).all(|i| {
                let both = self.chunks[i].iter().zip(&other.chunks[i]);
                both.fold(0, |missing, (mine, theirs)| missing | theirs & !mine) == 0
            })
    }

    /// Returns true if this block has any page of `other`.
    pub fn meets(&self, other: &Block) -> bool {
        ones(self.used & other.used).any(|i| {
            let both = self.chunks[i].iter().zip(&other.chunks[i]);
            both.fold(0, |common, (mine, theirs)| common | mine & theirs) != 0
        })
    }

    pub fn subtract(&mut self, other: &Block) {
        for i in ones(self.used & other.used) {
            let both = self.chunks[i].iter_mut().zip(&other.chunks[i]);
            both.for_each(|(a, b)| *a &= !b);
            self.settle(i);
        }
    }

    pub fn intersect(&mut self, other: &Block) {
        for i in ones(self.used) {
            let both = self.chunks[i].iter_mut().zip(&other.chunks[i]);
            both.for_each(|(a, b)| *a &= b);
            self.settle(i);
        }
    }

    /// Clears the bit of chunk `i` in `used` if the chunk has no pages. Called after pages were
    /// removed.
    fn settle(&mut self, i: usize) {
        if self.chunks[i] == [0; CHUNK_WORDS] {
            self.used &= !(1 << i);
        }
    }

    /// Returns a word in which the bits of the chunks that have pages are set.
    pub fn used(&self) -> u64 {
        self.chunks_in_use().fold(0, |used, (i, _)| used | 1 << i)
    }

    pub fn is_full(&self) -> bool {
        self.used == !0 && self.chunks == FULL.chunks
    }

    pub fn is_empty(&self) -> bool {
        self.chunks_in_use().next().is_none()
    }

    /// Returns the runs of pages, in order. A run across the border of chunks is returned in parts.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        self.chunks_in_use().flat_map(|(i, chunk)| {
            let first = i * CHUNK_PAGES;
            runs_of(chunk).map(move |r| first + r.start..first + r.end)
        })
    }

    /// Returns the number of pages in the set.
    pub fn len(&self) -> usize {
        let count =
            |chunk: &ChunkBits| chunk.iter().map(|w| w.count_ones() as usize).sum::<usize>();
        self.chunks_in_use().map(|(_, chunk)| count(chunk)).sum()
    }

    /// Returns the number of `pages` that are in the set.
    pub fn count_in(&self, pages: Range<usize>) -> usize {
        let word = |w: usize| self.chunks[w / CHUNK_WORDS][w % CHUNK_WORDS];
        let counts = masks(pages).map(|(w, mask)| (word(w) & mask).count_ones());
        counts.map(|n| n as usize).sum()
    }
}

/// Returns the positions of the bits that are set.
fn ones(mut word: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let i = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        i
    })
}

/// Returns the numbers of the words that hold the bits `range`, each with a mask of these bits.
fn masks(range: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    (range.start / 64..range.end.div_ceil(64)).map(move |word| {
        let from = range.start.saturating_sub(word * 64);
        let past = 64 - (range.end - word * 64).min(64);
        (word, !0 << from & !0 >> past)
    })
}
