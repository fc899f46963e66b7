//! A block: the bitmaps of 64 chunks, and which of them may have pages.

use super::{CHUNK_PAGES, CHUNK_WORDS, ChunkBits, runs_of};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// Chunks of a block.
pub(super) const BLOCK_CHUNKS: usize = 64;
/// Pages of a block.
pub(super) const BLOCK_PAGES: usize = BLOCK_CHUNKS * CHUNK_PAGES;

/// Which pages of a block are in a set.
#[derive(Clone)]
pub(super) struct Block {
    /// Bit `i` is set if chunk `i` may have pages; the bitmap of any other chunk is all zeros.
    used: u64,
    chunks: [ChunkBits; BLOCK_CHUNKS],
}

impl Default for Block {
    fn default() -> Self {
        Block {
            used: 0,
            chunks: [[0; CHUNK_WORDS]; BLOCK_CHUNKS],
        }
    }
}

/// Every page. All sets share this one, so that a field of a terabyte takes no more memory than a few pages.
static FULL: LazyLock<Arc<Block>> = LazyLock::new(|| {
    Arc::new(Block {
        used: !0,
        chunks: [[!0; CHUNK_WORDS]; BLOCK_CHUNKS],
    })
});

impl Block {
    /// The block of every page.
    pub fn full() -> Arc<Block> {
        FULL.clone()
    }

    /// Whether this is [`Block::full`] itself: another one with every page may say no.
    pub fn is_full(this: &Arc<Block>) -> bool {
        Arc::ptr_eq(this, &FULL)
    }

    pub fn chunk(&self, i: usize) -> &ChunkBits {
        &self.chunks[i]
    }

    pub fn chunk_mut(&mut self, i: usize) -> &mut ChunkBits {
        self.used |= 1 << i;
        &mut self.chunks[i]
    }

    /// The chunks that have pages.
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

    /// Chunk `i` may have lost its last page.
    fn settle(&mut self, i: usize) {
        if self.chunks[i] == [0; CHUNK_WORDS] {
            self.used &= !(1 << i);
        }
    }

    pub fn len(&self) -> usize {
        let count =
            |chunk: &ChunkBits| chunk.iter().map(|w| w.count_ones() as usize).sum::<usize>();
        ones(self.used).map(|i| count(&self.chunks[i])).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.chunks_in_use().next().is_none()
    }

    /// Runs of pages, in order; neighbours of different chunks may be two.
    pub fn runs(this: &Arc<Block>) -> impl Iterator<Item = Range<usize>> + Clone {
        let full = Block::is_full(this);
        let whole = full.then_some(0..BLOCK_PAGES).into_iter();
        let chunks = (!full).then(|| this.chunks_in_use()).into_iter().flatten();
        whole.chain(chunks.flat_map(|(i, chunk)| {
            let first = i * CHUNK_PAGES;
            runs_of(chunk).map(move |r| first + r.start..first + r.end)
        }))
    }

    /// The words in `pages`, without the bits outside.
    pub fn words_in(&self, pages: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        let word = |w: usize| self.chunks[w / CHUNK_WORDS][w % CHUNK_WORDS];
        masks(pages).map(move |(w, mask)| word(w) & mask)
    }
}

/// The positions of ones.
fn ones(mut word: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let i = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        i
    })
}

/// The words that hold the bits `range`, and which of their bits these are.
fn masks(range: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    (range.start / 64..range.end.div_ceil(64)).map(move |word| {
        let from = range.start.saturating_sub(word * 64);
        let past = 64 - (range.end - word * 64).min(64);
        (word, !0 << from & !0 >> past)
    })
}
