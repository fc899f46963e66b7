//! The first mesh of the plate.

use super::plate::Mesh;
use super::problem::{self, SIDE};
use crate::noise::Noise;

/// Inner points are moved by up to this part of their distance, so no two triangles are alike.
const SHIFT: f64 = 0.15;

/// Returns the mesh of an L-shaped plate: three squares of `n` times `n` pairs of triangles each,
/// and the temperature at time 0.
pub fn l_shape(n: usize) -> Mesh {
    let grid = Grid { n };
    let mut mesh = Mesh::default();
    for (i, j) in grid.points() {
        let point = grid.place(i, j);
        mesh.points.push(point);
        let pattern = problem::pattern(point);
        mesh.temperature.push(problem::temperature(pattern, 0.0));
    }
    for (i, j) in grid.squares() {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
        let [a, b, c, d] = corners.map(|(i, j)| grid.number(i, j) as i64);
        // Both have the diagonal first.
        mesh.triangles.extend([[c, a, b], [a, c, d]]);
    }
    mesh
}

/// The points of the mesh in columns i and rows j, both from 0 to 2 n, without the upper right
/// square.
struct Grid {
    n: usize,
}

impl Grid {
    fn points(&self) -> impl Iterator<Item = (usize, usize)> {
        let n = self.n;
        let all = (0..=2 * n).flat_map(move |j| (0..=2 * n).map(move |i| (i, j)));
        all.filter(move |&(i, j)| i <= n || j <= n)
    }

    fn squares(&self) -> impl Iterator<Item = (usize, usize)> {
        let n = self.n;
        let all = (0..2 * n).flat_map(move |j| (0..2 * n).map(move |i| (i, j)));
        all.filter(move |&(i, j)| i < n || j < n)
    }

    /// Returns the number of a point in the order of [`Grid::points`].
    fn number(&self, i: usize, j: usize) -> usize {
        let (long, short) = (2 * self.n + 1, self.n + 1);
        match j.checked_sub(short) {
            None => j * long + i,
            Some(above) => short * long + above * short + i,
        }
    }

    fn is_inner(&self, i: usize, j: usize) -> bool {
        let (n, end) = (self.n, 2 * self.n);
        i > 0 && j > 0 && ((i < n && j < end) || (j < n && i < end))
    }

    fn place(&self, i: usize, j: usize) -> [f64; 3] {
        let (noise, number) = (Noise::new(1, 0), self.number(i, j) as u64);
        let shift = match self.is_inner(i, j) {
            true => [2 * number, 2 * number + 1].map(|n| SHIFT * noise.at(n)),
            false => [0.0; 2],
        };
        let at = |n: usize, shift: f64| (n as f64 + shift) * SIDE / self.n as f64;
        [at(i, shift[0]), at(j, shift[1]), 0.0]
    }
}
