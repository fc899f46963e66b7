//! Slots: pages of planes.

use crate::pageset::{ChunkBits, PageSet};
use std::ops::Range;

/// Slots, plane by plane: where the pages of a version are captured, for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots(Vec<(usize, PageSet)>);

impl Slots {
    /// These pages of one plane.
    pub fn of(plane: usize, pages: PageSet) -> Self {
        Slots(vec![(plane, pages)])
    }

    /// The planes, with their pages.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &PageSet)> + Clone {
        self.0.iter().map(|(plane, pages)| (*plane, pages))
    }

    /// The planes that have pages of a chunk, with these.
    pub fn in_chunk(&self, chunk: usize) -> impl Iterator<Item = (usize, &ChunkBits)> {
        let bits = self
            .iter()
            .map(move |(plane, set)| (plane, set.chunk(chunk)));
        bits.filter(|(_, bits)| **bits != ChunkBits::default())
    }

    /// The pages of one plane.
    pub fn of_plane(&self, plane: usize) -> impl Iterator<Item = &PageSet> {
        self.iter()
            .filter(move |(p, _)| *p == plane)
            .map(|(_, pages)| pages)
    }

    /// Whether any of `pages` of `plane` is one of them.
    pub fn intersects(&self, plane: usize, pages: &Range<usize>) -> bool {
        self.of_plane(plane)
            .any(|set| set.intersects(pages.clone()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(_, pages)| pages.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, pages)| pages.is_empty())
    }

    /// The runs of neighbours in each plane.
    pub fn runs(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.iter()
            .flat_map(|(plane, pages)| pages.runs().map(move |run| (plane, run)))
    }

    /// Add `pages` of `plane`, which has so many in all.
    pub fn insert_range(&mut self, plane: usize, pages: Range<usize>, capacity: usize) {
        self.plane_mut(plane, capacity).insert_range(pages);
    }

    /// Add pages of a chunk.
    pub fn insert_bits(&mut self, plane: usize, chunk: usize, bits: &ChunkBits, capacity: usize) {
        let mine = self.plane_mut(plane, capacity).chunk_mut(chunk);
        mine.iter_mut().zip(bits).for_each(|(m, b)| *m |= b);
    }

    /// Add all of `other`.
    pub fn union(&mut self, other: &Slots) {
        for (plane, pages) in other.iter() {
            self.plane_mut(plane, pages.capacity()).union(pages);
        }
    }

    /// Take `pages` out, of every plane.
    pub fn subtract(&mut self, pages: &PageSet) {
        self.0.iter_mut().for_each(|(_, set)| set.subtract(pages));
    }

    /// Those of `pages`.
    pub fn within(&self, pages: &PageSet) -> Slots {
        let mut slots = self.clone();
        slots.0.iter_mut().for_each(|(_, set)| set.intersect(pages));
        slots
    }

    fn plane_mut(&mut self, plane: usize, capacity: usize) -> &mut PageSet {
        let at = match self.0.iter().position(|(p, _)| *p == plane) {
            Some(at) => at,
            None => {
                self.0.push((plane, PageSet::new(capacity)));
                self.0.len() - 1
            }
        };
        &mut self.0[at].1
    }
}
