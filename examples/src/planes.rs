//! A grid that is cut into planes of constant z, some for each rank of a job.

use std::ops::Range;

/// The planes of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    /// The cells of the whole grid along z, y and x.
    pub grid: [usize; 3],
    /// The first plane of this rank.
    pub first: usize,
    /// The number of its planes, at least 1.
    pub count: usize,
}

impl Planes {
    /// Returns the planes of `rank`, one of `ranks`. The numbers of planes of two ranks differ by 1
    /// at most. Returns `None` if there are more ranks than planes, or if `rank` is none of them.
    pub fn of_rank(grid: [usize; 3], rank: usize, ranks: usize) -> Option<Self> {
        if rank >= ranks || ranks > grid[0] {
            return None;
        }
        let begin = |rank: usize| grid[0] * rank / ranks;
        let first = begin(rank);
        let count = begin(rank + 1) - first;
        Some(Planes { grid, first, count })
    }

    /// Returns the shape of an array that holds these planes and a ghost plane at each end of z.
    pub fn shape_with_ghosts(&self) -> [usize; 3] {
        let [_, ny, nx] = self.grid;
        [self.count + 2, ny, nx]
    }

    /// Returns the indices of these planes in the grid.
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.count
    }
}
