//! A set of pages of a region, as a bitmap that is handled 2 MiB chunk by chunk.

use std::ops::Range;

/// Pages of one chunk: page maps, changed sets and capture all work in this unit (2 MiB of 4 KiB pages).
pub const CHUNK_PAGES: usize = 512;
/// 64-bit words of the bitmap of one chunk.
pub const CHUNK_WORDS: usize = CHUNK_PAGES / 64;

/// The bitmap of one chunk.
pub type ChunkBits = [u64; CHUNK_WORDS];

/// A set of page numbers below `pages`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSet {
    pages: usize,
    words: Vec<u64>,
}

impl PageSet {
    /// The empty set over a region of `pages` pages. (Zeroed memory: an untouched part costs nothing.)
    pub fn new(pages: usize) -> Self {
        PageSet {
            pages,
            words: vec![0; pages.div_ceil(CHUNK_PAGES) * CHUNK_WORDS],
        }
    }

    /// Number of pages the set may speak of.
    pub fn capacity(&self) -> usize {
        self.pages
    }

    /// Number of chunks, the last one possibly in part.
    pub fn chunks(&self) -> usize {
        self.words.len() / CHUNK_WORDS
    }

    /// The bitmap of one chunk.
    pub fn chunk(&self, chunk: usize) -> &ChunkBits {
        let at = chunk * CHUNK_WORDS;
        self.words[at..at + CHUNK_WORDS]
            .try_into()
            .expect("a slice of CHUNK_WORDS words")
    }

    /// The bitmap of one chunk, writable. Bits past the last page must stay 0.
    pub fn chunk_mut(&mut self, chunk: usize) -> &mut ChunkBits {
        let at = chunk * CHUNK_WORDS;
        (&mut self.words[at..at + CHUNK_WORDS])
            .try_into()
            .expect("a slice of CHUNK_WORDS words")
    }

    /// Whether `page` is in the set.
    pub fn contains(&self, page: usize) -> bool {
        page < self.pages && self.words[page / 64] >> (page % 64) & 1 == 1
    }

    /// Add one page.
    pub fn insert(&mut self, page: usize) {
        self.insert_range(page..page + 1);
    }

    /// Add a range of pages; what lies past the end is left out.
    pub fn insert_range(&mut self, range: Range<usize>) {
        self.apply(range, |word, mask| *word |= mask);
    }

    /// Take a range of pages out.
    pub fn remove_range(&mut self, range: Range<usize>) {
        self.apply(range, |word, mask| *word &= !mask);
    }

    fn apply(&mut self, range: Range<usize>, change: impl Fn(&mut u64, u64)) {
        let (mut at, end) = (range.start, range.end.min(self.pages));
        while at < end {
            let (word, bit) = (at / 64, at % 64);
            let n = (64 - bit).min(end - at);
            let mask = if n == 64 { !0 } else { ((1 << n) - 1) << bit };
            change(&mut self.words[word], mask);
            at += n;
        }
    }

    /// Add all of `other`.
    pub fn union(&mut self, other: &PageSet) {
        self.words
            .iter_mut()
            .zip(&other.words)
            .for_each(|(a, b)| *a |= b);
    }

    /// Take all of `other` out.
    pub fn subtract(&mut self, other: &PageSet) {
        self.words
            .iter_mut()
            .zip(&other.words)
            .for_each(|(a, b)| *a &= !b);
    }

    /// Keep only what is also in `other`.
    pub fn intersect(&mut self, other: &PageSet) {
        self.words
            .iter_mut()
            .zip(&other.words)
            .for_each(|(a, b)| *a &= b);
    }

    /// Take out whatever lies past the last page: for bits that came from outside.
    pub fn trim(&mut self) {
        let whole = self.pages / 64;
        if let Some(word) = self.words.get_mut(whole) {
            *word &= (1 << (self.pages % 64)) - 1;
        }
        self.words.iter_mut().skip(whole + 1).for_each(|w| *w = 0);
    }

    /// Take everything out.
    pub fn clear(&mut self) {
        self.words
            .iter_mut()
            .filter(|w| **w != 0)
            .for_each(|w| *w = 0);
    }

    /// Whether any page of the range is in the set.
    pub fn intersects(&self, mut range: Range<usize>) -> bool {
        range.end = range.end.min(self.pages);
        range.any(|page| self.contains(page))
    }

    /// Number of pages in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether no page is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    /// The maximal runs of neighbouring pages, in order.
    pub fn runs(&self) -> Runs<'_> {
        runs_of(&self.words)
    }

    /// The page numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.runs().flatten()
    }
}

/// The runs of ones in a bitmap of words.
pub fn runs_of(words: &[u64]) -> Runs<'_> {
    Runs { words, at: 0 }
}

/// Iterator over maximal runs: see [`PageSet::runs`].
pub struct Runs<'a> {
    words: &'a [u64],
    at: usize,
}

impl Runs<'_> {
    /// The first position from `self.at` whose bit equals `bit`, or the end.
    fn seek(&mut self, bit: bool) {
        while self.at < self.words.len() * 64 {
            let word = self.words[self.at / 64];
            let rest = (if bit { word } else { !word }) >> (self.at % 64);
            if rest != 0 {
                self.at += rest.trailing_zeros() as usize;
                return;
            }
            self.at = (self.at / 64 + 1) * 64;
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        self.seek(true);
        let start = self.at;
        self.seek(false);
        (start < self.at).then_some(start..self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_a_set_of_numbers(ops in proptest::collection::vec((any::<bool>(), 0usize..1500, 0usize..700), 0..30)) {
            let (mut set, mut model) = (PageSet::new(1300), BTreeSet::new());
            for (add, start, len) in ops {
                if add {
                    set.insert_range(start..start + len);
                    model.extend((start..start + len).filter(|p| *p < 1300));
                } else {
                    set.remove_range(start..start + len);
                    model.retain(|p| !(start..start + len).contains(p));
                }
            }
            prop_assert_eq!(set.len(), model.len());
            prop_assert!(set.runs().zip(set.runs().skip(1)).all(|(a, b)| a.end < b.start));
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
        }
    }
}
