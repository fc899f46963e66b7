//! Refines a mesh by newest-vertex bisection.
//!
//! Each triangle has one edge that is bisected first: that between its first two points. The edges
//! of the triangles to refine are marked. If any edge of a triangle is marked, its first one must
//! be as well, because only first edges are bisected. Then each triangle is bisected as long as its
//! first edge is marked, on both sides of each edge. A triangle with all edges marked becomes four.

use super::plate::{Mesh, Plate};
use std::collections::{BTreeMap, BTreeSet};

/// An edge, by its points in ascending order.
type Edge = [i64; 2];

/// Returns the mesh with the triangles refined for which `wanted` has true, and others where that
/// is necessary. New points get the temperature in the middle of the edges, where they lie.
pub fn refine(plate: &Plate<'_>, wanted: &[bool]) -> Mesh {
    let triangles = plate.triangles.iter().zip(wanted);
    let chosen = triangles.filter(|(_, wanted)| **wanted);
    let mut marked: BTreeSet<Edge> = chosen.flat_map(|(triangle, _)| edges(*triangle)).collect();
    complete(&mut marked, plate.triangles);
    let mut finer = Finer {
        marked,
        middles: BTreeMap::new(),
        mesh: Mesh {
            points: plate.points.to_vec(),
            triangles: Vec::new(),
            temperature: plate.temperature.to_vec(),
        },
    };
    for triangle in &*plate.triangles {
        finer.bisect(*triangle);
    }
    finer.mesh
}

/// Returns for each point whether it is on the edge of the plate: at the end of an edge that only
/// one triangle has.
pub fn boundary(plate: &Plate<'_>) -> Vec<bool> {
    let mut triangles_at: BTreeMap<Edge, usize> = BTreeMap::new();
    for edge in plate.triangles.iter().flat_map(|t| edges(*t)) {
        *triangles_at.entry(edge).or_default() += 1;
    }
    let mut outer = vec![false; plate.points.len()];
    let single = triangles_at.iter().filter(|(_, count)| **count == 1);
    for point in single.flat_map(|(edge, _)| edge) {
        outer[*point as usize] = true;
    }
    outer
}

/// Returns the edges of a triangle, that to be bisected first.
fn edges([a, b, c]: [i64; 3]) -> [Edge; 3] {
    [edge(a, b), edge(b, c), edge(c, a)]
}

fn edge(a: i64, b: i64) -> Edge {
    [a.min(b), a.max(b)]
}

/// Marks the first edge of each triangle that has a marked edge, until there are no more.
fn complete(marked: &mut BTreeSet<Edge>, triangles: &[[i64; 3]]) {
    loop {
        let before = marked.len();
        for triangle in triangles {
            let [first, second, third] = edges(*triangle);
            if marked.contains(&second) || marked.contains(&third) {
                marked.insert(first);
            }
        }
        if marked.len() == before {
            return;
        }
    }
}

/// A mesh that is being refined.
struct Finer {
    marked: BTreeSet<Edge>,
    /// The points in the middle of edges.
    middles: BTreeMap<Edge, i64>,
    mesh: Mesh,
}

impl Finer {
    /// Adds a triangle, or what it is bisected into. The new point becomes the last one of both
    /// halves, so that their first edges are edges of the triangle.
    fn bisect(&mut self, [a, b, c]: [i64; 3]) {
        match self.middle(edge(a, b)) {
            None => self.mesh.triangles.push([a, b, c]),
            Some(middle) => {
                self.bisect([c, a, middle]);
                self.bisect([b, c, middle]);
            }
        }
    }

    /// Returns the point in the middle of an edge, if it is marked.
    fn middle(&mut self, edge: Edge) -> Option<i64> {
        if !self.marked.contains(&edge) {
            return None;
        }
        if let Some(middle) = self.middles.get(&edge) {
            return Some(*middle);
        }
        let middle = self.add_middle(edge.map(|i| i as usize));
        self.middles.insert(edge, middle);
        Some(middle)
    }

    fn add_middle(&mut self, [a, b]: [usize; 2]) -> i64 {
        let Mesh {
            points,
            temperature,
            ..
        } = &mut self.mesh;
        let (from, to) = (points[a], points[b]);
        let point = std::array::from_fn(|axis| 0.5 * (from[axis] + to[axis]));
        let between = 0.5 * (temperature[a] + temperature[b]);
        points.push(point);
        temperature.push(between);
        points.len() as i64 - 1
    }
}
