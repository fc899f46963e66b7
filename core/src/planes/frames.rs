//! Frames: pages of planes.

use crate::pageset::{ChunkBits, PageSet};
use std::ops::Range;

/// A set of frames, plane by plane. It says for example where the pages of a version are captured
/// to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames(Vec<(usize, PageSet)>);

impl Frames {
    /// Creates a set of `pages` of one plane.
    pub fn of(plane: usize, pages: PageSet) -> Self {
        Frames(vec![(plane, pages)])
    }

    /// Returns the planes, with the pages of each.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &PageSet)> + Clone {
        self.0.iter().map(|(plane, pages)| (*plane, pages))
    }

    /// Returns the planes that have pages of a chunk in the set, with these pages.
    pub fn in_chunk(&self, chunk: usize) -> impl Iterator<Item = (usize, &ChunkBits)> {
        let bits = self
            .iter()
            .map(move |(plane, set)| (plane, set.chunk(chunk)));
        bits.filter(|(_, bits)| **bits != ChunkBits::default())
    }

    /// Returns the pages of one plane.
    pub fn of_plane(&self, plane: usize) -> impl Iterator<Item = &PageSet> {
        self.iter()
            .filter(move |(p, _)| *p == plane)
            .map(|(_, pages)| pages)
    }

    /// Returns true if the set has any of `pages` of `plane`.
    pub fn intersects(&self, plane: usize, pages: &Range<usize>) -> bool {
        self.of_plane(plane)
            .any(|set| set.intersects(pages.clone()))
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(_, pages)| pages.len()).sum()
    }

    /// Returns true if there are no frames.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, pages)| pages.is_empty())
    }

    /// Returns the runs of neighbouring pages in each plane.
    pub fn runs(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.iter()
            .flat_map(|(plane, pages)| pages.runs().map(move |run| (plane, run)))
    }

    /// Adds `pages` of `plane`. A plane has `capacity` pages.
    pub fn insert_range(&mut self, plane: usize, pages: Range<usize>, capacity: usize) {
        self.plane_mut(plane, capacity).insert_range(pages);
    }

    /// Adds pages of a chunk.
    pub fn insert_bits(&mut self, plane: usize, chunk: usize, bits: &ChunkBits, capacity: usize) {
        let mine = self.plane_mut(plane, capacity).chunk_mut(chunk);
        mine.iter_mut().zip(bits).for_each(|(m, b)| *m |= b);
    }

    /// Adds all frames of `other`.
    pub fn union(&mut self, other: &Frames) {
        for (plane, pages) in other.iter() {
            self.plane_mut(plane, pages.capacity()).union(pages);
        }
    }

    /// Removes `pages`, in every plane.
    pub fn subtract(&mut self, pages: &PageSet) {
        self.0.iter_mut().for_each(|(_, set)| set.subtract(pages));
    }

    /// Returns those frames that are of `pages`.
    pub fn within(&self, pages: &PageSet) -> Frames {
        let mut frames = self.clone();
        frames
            .0
            .iter_mut()
            .for_each(|(_, set)| set.intersect(pages));
        frames
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
