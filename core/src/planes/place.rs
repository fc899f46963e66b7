//! Finding slots for pages.

use super::{Plane, Planes, Slots};
use crate::pageset::{BLOCK_PAGES, CHUNK_PAGES, ChunkBits, PageSet, runs_of};
use crate::sabotage::{Guard, off};
use std::ops::Range;

/// Pages of a chunk in more runs are many runs wherever they go.
const FEW_RUNS: usize = 8;

impl Planes {
    /// Find slots for the pages `want`. Few pages of a chunk, or scattered ones, go first to slots that have memory: a fresh page
    /// costs several times its copy. Many in a few runs go first to the plane that takes most of them, so that what is written
    /// densely lies in one run again, however it was scattered before.
    pub fn place(&self, want: &PageSet) -> Slots {
        let (mut slots, mut left) = (Slots::default(), want.clone());
        // Whole blocks first, as many at once as can be: what is written densely costs the same however large it is.
        for pages in want.whole() {
            self.place_whole(pages, &mut slots, &mut left);
        }
        for (chunk, bits) in left.chunks_in_use() {
            self.place_chunk(chunk, bits, &mut slots);
        }
        slots
    }

    /// How many pages of fresh memory the slots need.
    pub fn fresh_pages(&self, slots: &Slots) -> usize {
        let fresh = |(plane, pages): (usize, &PageSet)| {
            let mut fresh = pages.clone();
            fresh.subtract(self.planes[plane].account.held());
            fresh.len()
        };
        slots.iter().map(fresh).sum()
    }

    /// A plane in which no slot of `pages` is busy; of several, the one that has memory for most of them.
    pub fn free_plane(&self, pages: &Range<usize>) -> Option<usize> {
        let free = |i: &usize| {
            let p = &self.planes[*i];
            !p.busy.intersects(pages.clone()) && !p.account.leaving().intersects(pages.clone())
        };
        // Reversed, because max_by_key takes the last of equals: planes that never had memory stay behind the others.
        let planes = (0..self.planes.len().min(self.touched + 1)).rev();
        planes
            .filter(free)
            .max_by_key(|i| self.planes[*i].account.held().count_in(pages.clone()))
    }

    /// Place blocks that are wanted whole in one plane that is free there, if there is one.
    fn place_whole(&self, pages: Range<usize>, slots: &mut Slots, left: &mut PageSet) {
        if let Some(plane) = self.free_plane(&pages) {
            slots.insert_range(plane, pages.clone(), left.capacity());
            left.remove_range(pages);
        } else if pages.len() > BLOCK_PAGES {
            for start in pages.step_by(BLOCK_PAGES) {
                self.place_whole(start..start + BLOCK_PAGES, slots, left);
            }
        }
    }

    fn place_chunk(&self, chunk: usize, want: &ChunkBits, slots: &mut Slots) {
        let dense = count(want) as usize >= CHUNK_PAGES / 2 && runs_of(want).count() <= FEW_RUNS;
        let mut left = *want;
        while left.iter().any(|w| *w != 0) {
            let (plane, bits) = self.best(chunk, &left, dense);
            if bits.iter().all(|w| *w == 0) {
                // One slot per version and page exists, so this cannot be; were it so, looping would hang the simulation.
                unreachable!(
                    "no free slot for pages of chunk {chunk}: more live versions than planes"
                );
            }
            left.iter_mut().zip(&bits).for_each(|(l, b)| *l &= !b);
            slots.insert_bits(plane, chunk, &bits, self.pages());
        }
    }

    /// The plane to take slots of, and which of `want`: of scattered pages those alone that have memory there, as long as some
    /// have any anywhere.
    fn best(&self, chunk: usize, want: &ChunkBits, dense: bool) -> (usize, ChunkBits) {
        let free = |p: &Plane| match off(Guard::SlotInUse) {
            true => *want,
            false => p.free(chunk, want),
        };
        let warm = |p: &Plane| {
            let (free, held) = (free(p), p.account.held().chunk(chunk));
            std::array::from_fn(|i| free[i] & held[i])
        };
        let score = |p: &Plane| {
            let (free, warm) = (count(&free(p)), count(&warm(p)));
            if dense { (free, warm) } else { (warm, free) }
        };
        // max_by_key takes the last of equals: reversed, the lowest plane, so that neighbours end up together.
        let best = (0..self.planes.len().min(self.touched + 1))
            .rev()
            .max_by_key(|i| score(&self.planes[*i]))
            .unwrap_or(0);
        let plane = &self.planes[best];
        match warm(plane) {
            warm if !dense && count(&warm) != 0 => (best, warm),
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
        fn every_page_gets_one_slot_and_no_slot_that_is_busy(wanted in proptest::collection::vec(pages(), 1..12)) {
            let mut planes = Planes::create("place", PAGES, 4096, PLANES).unwrap();
            // As many versions as leave one slot for each page.
            let mut versions = std::collections::VecDeque::new();
            for runs in wanted {
                let mut want = PageSet::new(PAGES);
                runs.iter().for_each(|(start, len)| want.insert_range(*start..start + len));
                let slots = planes.place(&want);
                let (mut left, mut placed) = (want.clone(), 0);
                for (plane, pages) in slots.iter() {
                    let mut taken = pages.clone();
                    taken.intersect(&planes.planes[plane].busy);
                    prop_assert!(taken.is_empty(), "{taken:?} of plane {plane} are busy");
                    left.subtract(pages);
                    placed += pages.len();
                }
                prop_assert_eq!((left.len(), placed), (0, want.len()));
                prop_assert_eq!(planes.fresh_pages(&slots), planes.hold(&slots).len());
                planes.set_busy(&slots);
                versions.push_back(slots);
                if versions.len() == PLANES {
                    planes.set_free(&versions.pop_front().unwrap());
                }
            }
        }
    }
    #[test]
    fn scattered_pages_take_fresh_memory_only_where_no_free_slot_has_any() {
        let mut planes = Planes::create("warm", CHUNK_PAGES, 4096, PLANES).unwrap();
        let third = |from: usize| {
            let mut pages = PageSet::new(CHUNK_PAGES);
            (from..CHUNK_PAGES)
                .step_by(3)
                .for_each(|page| pages.insert(page));
            pages
        };
        // A third of the pages has memory in each plane, and one third only there.
        for (plane, from) in [(0, 0), (1, 1)] {
            planes.hold(&Slots::of(plane, third(from)));
        }
        let mut want = third(0);
        want.union(&third(1));
        want.union(&third(2));
        want.remove_range(0..2);
        for gap in (10..CHUNK_PAGES).step_by(30) {
            want.remove_range(gap..gap + 1);
        }
        let slots = planes.place(&want);
        let mut cold = want.clone();
        cold.intersect(&third(2));
        assert_eq!(planes.fresh_pages(&slots), cold.len());
    }
}
