//! Cell lists: the atoms in each cell of the channel. Cells are at least as wide as the cutoff, so
//! atoms that interact are in the same cell or in neighbouring ones.

use super::CUTOFF;
use super::channel::Channel;
use std::iter::successors;

/// The atoms in each cell, as linked lists.
#[derive(Clone, Debug)]
pub struct Cells {
    sides: [f64; 3],
    /// The numbers of cells along x, y and z.
    counts: [usize; 3],
    /// The first atom of each cell.
    first: Vec<Option<usize>>,
    /// The next atom in the cell of each atom.
    next: Vec<Option<usize>>,
}

impl Cells {
    /// Creates empty cells.
    ///
    /// # Panics
    /// Panics if the channel is narrower than three cells: an atom would meet another one twice.
    pub fn new(channel: &Channel) -> Self {
        let counts = channel.sides.map(|side| (side / CUTOFF) as usize);
        let wide = counts[0] > 0 && counts[1] >= 3 && counts[2] >= 3;
        assert!(wide, "the channel has {counts:?} cells, too few");
        Cells {
            sides: channel.sides,
            counts,
            first: vec![None; counts.iter().product()],
            next: Vec::new(),
        }
    }

    /// Puts the atoms at `x` into their cells.
    pub fn sort(&mut self, x: &[[f64; 3]]) {
        self.first.fill(None);
        self.next.clear();
        for (i, x) in x.iter().enumerate() {
            let cell = self.number(self.cell_of(*x));
            self.next.push(self.first[cell].replace(i));
        }
    }

    /// Returns the atoms in the cell at `x` and in the cells around it.
    pub fn near(&self, x: [f64; 3]) -> impl Iterator<Item = usize> {
        self.around(self.cell_of(x))
            .flat_map(move |cell| successors(self.first[cell], move |atom| self.next[*atom]))
    }

    fn cell_of(&self, x: [f64; 3]) -> [usize; 3] {
        std::array::from_fn(|axis| {
            let cells = self.counts[axis];
            // Rounding may place an atom at the very end of a side.
            let cell = (x[axis] / self.sides[axis] * cells as f64) as usize;
            cell.min(cells - 1)
        })
    }

    fn number(&self, [i, j, k]: [usize; 3]) -> usize {
        (i * self.counts[1] + j) * self.counts[2] + k
    }

    /// Returns the numbers of a cell and of those around it.
    fn around(&self, [i, j, k]: [usize; 3]) -> impl Iterator<Item = usize> {
        let [nx, ny, nz] = self.counts;
        let along_x = i.saturating_sub(1)..(i + 2).min(nx);
        let columns = along_x.flat_map(move |i| periodic(j, ny).map(|j| [i, j]));
        columns.flat_map(move |[i, j]| periodic(k, nz).map(|k| self.number([i, j, k])))
    }
}

/// Returns a cell and its neighbours along a periodic axis.
fn periodic(cell: usize, count: usize) -> [usize; 3] {
    [(cell + count - 1) % count, cell, (cell + 1) % count]
}
