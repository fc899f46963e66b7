//! Finds frames for pages.

use super::frames::Frames;
use super::plane::{Plane, Planes};
use crate::pageset::{BLOCK_PAGES, CHUNK_PAGES, ChunkBits, PageSet, runs_of};
use crate::testing::sabotage::{Guard, off};
use std::ops::Range;

/// If the pages wanted of a chunk are in more runs than this, they stay scattered wherever they are
/// placed.
const FEW_RUNS: usize = 8;

impl Planes {
    /// Finds frames for the pages `want`.
    ///
    /// Where few pages of a chunk are wanted, or scattered ones, frames that have memory are taken
    /// first, because a fresh page costs several times its copy. (Memory on another node than live
    /// memory does not count.) Where many pages in a few runs are wanted, the plane that can take
    /// most of them is taken first. So pages that are written densely lie in one run again, however
    /// scattered they were before.
    pub fn place(&self, want: &PageSet) -> Frames {
        let (mut frames, mut left) = (Frames::default(), want.clone());
        // Whole blocks first, as many at once as possible. So pages that are written densely cost
        // the same however many they are.
        for pages in want.whole() {
            self.place_whole(pages, &mut frames, &mut left);
        }
        for (chunk, bits) in left.chunks_in_use() {
            self.place_chunk(chunk, bits, &mut frames);
        }
        frames
    }

    /// Returns how many pages of fresh memory `frames` need.
    pub fn fresh_pages(&self, frames: &Frames) -> usize {
        let fresh = |(plane, pages): (usize, &PageSet)| {
            let mut fresh = pages.clone();
            fresh.subtract(self.planes[plane].account.held());
            fresh.len()
        };
        frames.iter().map(fresh).sum()
    }

    /// Returns a plane in which no frame of `pages` is busy. If there are several, takes the one
    /// that has memory for most of them.
    pub fn free_plane(&self, pages: &Range<usize>) -> Option<usize> {
        let free = |i: &usize| {
            let p = &self.planes[*i];
            !p.busy.intersects(pages.clone()) && !p.account.leaving().intersects(pages.clone())
        };
        // Reversed, because `max_by_key` returns the last of equal elements. So of equal planes the
        // first is taken, and planes that never had memory come last.
        let planes = (0..self.planes.len().min(self.touched + 1)).rev();
        planes
            .filter(free)
            .max_by_key(|i| self.planes[*i].account.ready_in(pages))
    }

    /// Places blocks that are wanted as a whole in one plane that is free there, if there is one.
    fn place_whole(&self, pages: Range<usize>, frames: &mut Frames, left: &mut PageSet) {
        if let Some(plane) = self.free_plane(&pages) {
            frames.insert_range(plane, pages.clone(), left.capacity());
            left.remove_range(pages);
        } else if pages.len() > BLOCK_PAGES {
            for start in pages.step_by(BLOCK_PAGES) {
                self.place_whole(start..start + BLOCK_PAGES, frames, left);
            }
        }
    }

    fn place_chunk(&self, chunk: usize, want: &ChunkBits, frames: &mut Frames) {
        let dense = count(want) as usize >= CHUNK_PAGES / 2 && runs_of(want).count() <= FEW_RUNS;
        let mut left = *want;
        while left.iter().any(|w| *w != 0) {
            let (plane, bits) = self.best(chunk, &left, dense);
            if bits.iter().all(|w| *w == 0) {
                // Every page has a frame for each version, so this cannot happen. If it did,
                // looping would hang the simulation.
                unreachable!(
                    "no free frame for pages of chunk {chunk}: more live versions than planes"
                );
            }
            left.iter_mut().zip(&bits).for_each(|(l, b)| *l &= !b);
            frames.insert_bits(plane, chunk, &bits, self.pages());
        }
    }

    /// Returns the plane to take frames of, and which pages of `want` to place there. Scattered
    /// pages are placed only in frames that have memory, as long as there are any.
    fn best(&self, chunk: usize, want: &ChunkBits, dense: bool) -> (usize, ChunkBits) {
        let free = |p: &Plane| match off(Guard::FrameInUse) {
            true => *want,
            false => p.free(chunk, want),
        };
        let ready = |p: &Plane| {
            let (free, ready) = (free(p), p.account.ready(chunk));
            std::array::from_fn(|i| free[i] & ready[i])
        };
        let score = |p: &Plane| {
            let (free, ready) = (count(&free(p)), count(&ready(p)));
            if dense { (free, ready) } else { (ready, free) }
        };
        // Reversed, because `max_by_key` returns the last of equal elements. So of equal planes the
        // first is taken, and neighbouring pages end up together.
        let best = (0..self.planes.len().min(self.touched + 1))
            .rev()
            .max_by_key(|i| score(&self.planes[*i]))
            .unwrap_or(0);
        let plane = &self.planes[best];
        match ready(plane) {
            ready if !dense && count(&ready) != 0 => (best, ready),
            _ => (best, free(plane)),
        }
    }
}

fn count(bits: &ChunkBits) -> u32 {
    bits.iter().map(|w| w.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three blocks, and a part of a chunk.
    const PAGES: usize = 3 * BLOCK_PAGES + 100;
    const PLANES: usize = 3;

    fn pages() -> impl Strategy<Value = Vec<(usize, usize)>> {
        let some = (0..PAGES, 1usize..900);
        let chunks = (0..PAGES / CHUNK_PAGES, 1usize..70);
        let blocks = (0usize..3, 1usize..4);
        let run = prop_oneof![
            some,
            chunks.prop_map(|(at, n)| (at * CHUNK_PAGES, n * CHUNK_PAGES)),
            blocks.prop_map(|(at, n)| (at * BLOCK_PAGES, n * BLOCK_PAGES)),
        ];
        proptest::collection::vec(run, 1..3)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn every_page_gets_one_frame_that_is_not_busy(
            wanted in proptest::collection::vec(pages(), 1..12),
        ) {
            let mut planes = Planes::create("place", PAGES, 4096, PLANES).unwrap();
            // So many versions are kept that each page has one frame left.
            let mut versions = std::collections::VecDeque::new();
            for runs in wanted {
                let mut want = PageSet::new(PAGES);
                runs.iter().for_each(|(start, len)| want.insert_range(*start..start + len));
                let frames = planes.place(&want);
                let (mut left, mut placed) = (want.clone(), 0);
                for (plane, pages) in frames.iter() {
                    let mut taken = pages.clone();
                    taken.intersect(&planes.planes[plane].busy);
                    prop_assert!(taken.is_empty(), "{taken:?} of plane {plane} are busy");
                    left.subtract(pages);
                    placed += pages.len();
                }
                prop_assert_eq!((left.len(), placed), (0, want.len()));
                prop_assert_eq!(planes.fresh_pages(&frames), planes.hold(&frames).len());
                planes.set_busy(&frames);
                versions.push_back(frames);
                if versions.len() == PLANES {
                    planes.set_free(&versions.pop_front().unwrap());
                }
            }
        }
    }
    #[test]
    fn scattered_pages_take_fresh_memory_only_where_no_free_frame_has_any() {
        let mut planes = Planes::create("warm", CHUNK_PAGES, 4096, PLANES).unwrap();
        let third = |from: usize| {
            let mut pages = PageSet::new(CHUNK_PAGES);
            (from..CHUNK_PAGES)
                .step_by(3)
                .for_each(|page| pages.insert(page));
            pages
        };
        // One third of the pages has memory in plane 0 only, and one third in plane 1 only.
        for (plane, from) in [(0, 0), (1, 1)] {
            planes.hold(&Frames::of(plane, third(from)));
        }
        let mut want = third(0);
        want.union(&third(1));
        want.union(&third(2));
        want.remove_range(0..2);
        for gap in (10..CHUNK_PAGES).step_by(30) {
            want.remove_range(gap..gap + 1);
        }
        let frames = planes.place(&want);
        let mut fresh = want.clone();
        fresh.intersect(&third(2));
        assert_eq!(planes.fresh_pages(&frames), fresh.len());
    }
}
