//! Slots that are live memory: all those of a buffer at once, in one plane.

use super::{Placement, Planes};
use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS, ChunkBits, PageSet};
use std::io;
use std::ops::Range;

impl Planes {
    /// A plane in which no slot of `pages` is busy; of several, the one that has memory in most chunks of them.
    pub fn free_plane(&self, pages: &Range<usize>) -> Option<usize> {
        let parts: Vec<_> = bits_of(pages).collect();
        let free = |i: &usize| {
            parts
                .iter()
                .all(|(c, bits)| self.planes[*i].free(*c, bits) == *bits)
        };
        let warm = |i: &usize| {
            let held = &self.planes[*i].held;
            parts.iter().filter(|(c, bits)| all(held, *c, bits)).count()
        };
        // Reversed, because max_by_key takes the last of equals: planes that never had memory stay behind the others.
        (0..self.planes.len()).rev().filter(free).max_by_key(warm)
    }

    /// `pages` of `plane`, as placements.
    pub fn placements(plane: usize, pages: &Range<usize>) -> impl Iterator<Item = Placement> {
        bits_of(pages).map(move |(chunk, bits)| Placement { chunk, plane, bits })
    }

    /// See that the slots of `pages` in `plane` have memory, so that storing to them needs none. They must be free.
    pub fn secure(&mut self, plane: usize, pages: &Range<usize>) -> io::Result<()> {
        let held = &self.planes[plane].held;
        let mut parts = bits_of(pages);
        if parts.all(|(chunk, bits)| all(held, chunk, &bits)) {
            return Ok(());
        }
        self.planes[plane].memory.allocate(pages)?;
        self.hold(plane, pages.clone());
        Ok(())
    }

    /// Let live memory at `base` be `pages` of `plane`; before it was those of `before`, if any. After an error it still is.
    ///
    /// # Safety
    /// `base` must be the region's live memory, and `pages` a part of it that is the caller's alone, with nothing borrowed
    /// from it. No version may refer to these slots of `plane`, and all must have memory.
    pub unsafe fn lend(
        &self,
        base: *mut u8,
        pages: &Range<usize>,
        before: Option<usize>,
        plane: usize,
    ) -> io::Result<()> {
        let bytes = self.whole_chunks(pages);
        if let Some(before) = before {
            // SAFETY: the caller's promise.
            unsafe { self.planes[before].memory.move_from_live(base, &bytes)? };
        }
        // SAFETY: the caller's promise.
        unsafe { self.planes[plane].memory.move_to_live(base, &bytes) }
    }

    /// Where the bytes of `pages` lie in the region.
    pub fn bytes_of(&self, pages: &Range<usize>) -> Range<usize> {
        pages.start * self.page_size..pages.end * self.page_size
    }

    /// The bytes of `pages` up to the end of their last chunk, which nobody else uses: so page tables move whole.
    pub fn whole_chunks(&self, pages: &Range<usize>) -> Range<usize> {
        let end = pages.end.next_multiple_of(CHUNK_PAGES).min(self.pages());
        self.bytes_of(&(pages.start..end))
    }

    fn pages(&self) -> usize {
        self.planes.first().map_or(0, |p| p.busy.capacity())
    }
}

/// The parts of `pages`, chunk by chunk.
fn bits_of(pages: &Range<usize>) -> impl Iterator<Item = (usize, ChunkBits)> + use<> {
    let pages = pages.clone();
    (pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES)).map(move |chunk| {
        let at = chunk * CHUNK_PAGES;
        let (from, to) = (
            pages.start.max(at) - at,
            pages.end.min(at + CHUNK_PAGES) - at,
        );
        (chunk, std::array::from_fn(|i| word(from..to, i)))
    })
}

/// Word `i` of the bitmap with ones at `range`.
fn word(range: Range<usize>, i: usize) -> u64 {
    debug_assert!(i < CHUNK_WORDS);
    let below = |n: usize| match n.saturating_sub(i * 64) {
        n if n >= 64 => !0,
        n => (1u64 << n) - 1,
    };
    below(range.end) & !below(range.start)
}

/// Whether all of `bits` are in the set.
fn all(set: &PageSet, chunk: usize, bits: &ChunkBits) -> bool {
    set.chunk(chunk).iter().zip(bits).all(|(s, b)| s & b == *b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_parts_of_a_range_are_its_pages(start in 0usize..1500, len in 1usize..1500) {
            let mut set = PageSet::new(4096);
            for (chunk, bits) in bits_of(&(start..start + len)) {
                *set.chunk_mut(chunk) = bits;
            }
            prop_assert_eq!(set.runs().collect::<Vec<_>>(), vec![start..start + len]);
        }
    }
}
