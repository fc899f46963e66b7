//! A coarser surface, for one that has more triangles than a screen needs.
//!
//! The points in each box of a grid are merged into one of them. So triangles that are smaller than
//! a box vanish, and others are drawn once: the surface keeps its shape and has no holes. The boxes
//! are made larger until the triangles are few enough. Their sides are powers of two, so a mesh
//! that changes a bit has almost the same coarser surface.
//!
//! This takes four bytes for each point of the mesh, of which there are at most 2^26, and eight for
//! each cell of the surface, as long as the surface is kept. While it is made, there are also a map
//! of the boxes that have points, and a set of the triangles.

use super::cells::CellList;
use super::faces::{NO_POINT, Outer, Polygon, distinct, fan};
use super::fields::Place;
use super::points::{Places, is_usable};
use super::sample::Boxes;
use super::triangles::{Merged, Surface};
use super::{Bounds, MeshError, extend};
use std::collections::{HashMap, HashSet};

/// The number of boxes to begin with. Most of them have no point.
const FINEST: usize = 1 << 30;
/// The number of boxes that there may be however large they are: those around the origin.
const COARSEST: usize = 8;

/// Stands in for the place of a point of the surface that cannot be drawn.
const NOWHERE: u32 = NO_POINT - 1;

/// Returns a surface of at most `most` triangles that stands for the faces of `outer`; `None` if
/// nothing is left of them.
pub fn coarse(
    cells: &CellList<'_>,
    outer: &Outer,
    places: &impl Places,
    most: usize,
) -> Result<Option<Surface>, MeshError> {
    let (mut merged, bounds) = Merged::none(cells, outer, places)?;
    let Some(bounds) = bounds else {
        return Ok(None);
    };
    let mut boxes = Boxes::new(&bounds, FINEST);
    loop {
        // A closed surface has about twice as many triangles as points.
        if let Some(points) = merged.merge(&boxes, places, most / 2)
            && let Some(surface) = merged.triangles(cells, outer, most)?
        {
            merged.longest = longest(&points, places);
            let whole = Surface {
                points,
                all: outer.triangles,
                merged: Some(merged),
                ..surface
            };
            return Ok(Some(whole).filter(|surface| !surface.corners.is_empty()));
        }
        if boxes.count() <= COARSEST {
            return Ok(None);
        }
        boxes = boxes.coarser(&bounds);
    }
}

impl Merged {
    /// Returns the points of the surface before any are merged, and the box around them.
    fn none(
        cells: &CellList<'_>,
        outer: &Outer,
        places: &impl Places,
    ) -> Result<(Self, Option<Bounds>), MeshError> {
        let mut of_point = vec![NO_POINT; cells.points()];
        let (mut bounds, mut invalid_points) = (None, 0);
        outer.each(cells, |_, polygon| {
            for point in corners(polygon) {
                let known = &mut of_point[point as usize];
                if *known != NO_POINT {
                    continue;
                }
                let place = places.get(point as usize);
                if is_usable(place) {
                    *known = 0;
                    extend(&mut bounds, place);
                } else {
                    *known = NOWHERE;
                    invalid_points += 1;
                }
            }
        })?;
        let merged = Merged {
            of_point,
            of_cell: Vec::new(),
            invalid_points,
            longest: 0.0,
        };
        Ok((merged, bounds))
    }

    /// Merges the points in each box. Returns the first of each, in ascending order, or `None` if
    /// there are more than `most`.
    fn merge(&mut self, boxes: &Boxes, places: &impl Places, most: usize) -> Option<Vec<u32>> {
        let (mut points, mut known) = (Vec::new(), HashMap::new());
        let all = self.of_point.iter_mut().enumerate();
        for (number, at) in all.filter(|(_, at)| **at < NOWHERE) {
            *at = *known
                .entry(boxes.of(places.get(number)))
                .or_insert(points.len() as u32);
            if *at as usize == points.len() {
                points.push(number as u32);
            }
            if points.len() > most {
                return None;
            }
        }
        Some(points)
    }

    /// Returns the triangles that are left, or `None` if there are more than `most`.
    fn triangles(
        &mut self,
        cells: &CellList<'_>,
        outer: &Outer,
        most: usize,
    ) -> Result<Option<Surface>, MeshError> {
        let Merged {
            of_point, of_cell, ..
        } = self;
        let (mut surface, mut seen) = (Surface::default(), HashSet::new());
        of_cell.clear();
        outer.each(cells, |cell, polygon| {
            let polygon = distinct(corners(polygon).map(|point| of_point[point as usize]));
            if polygon.contains(&NOWHERE) || surface.cells.len() > most {
                return;
            }
            if of_cell.last().is_none_or(|(last, _)| *last != cell) {
                of_cell.push((cell, polygon[0]));
            }
            for triangle in fan(polygon) {
                let mut key = triangle;
                key.sort_unstable();
                if seen.insert(key) {
                    surface.corners.push(triangle);
                    surface.cells.push(cell);
                }
            }
        })?;
        Ok(Some(surface).filter(|surface| surface.cells.len() <= most))
    }

    /// Returns the place in [`Surface::points`] that stands for a point or a cell of the mesh, if
    /// it is on the surface.
    pub fn place_of(&self, place: Place, number: u32) -> Option<usize> {
        let at = match place {
            Place::Points => *self.of_point.get(number as usize)?,
            Place::Cells => {
                let cells = &self.of_cell;
                let found = cells.binary_search_by_key(&number, |(cell, _)| *cell);
                cells.get(found.ok()?)?.1
            }
        };
        (at < NOWHERE).then_some(at as usize)
    }
}

impl Surface {
    /// Returns true if the surface can be drawn with the points where they are now. A coarser one
    /// cannot if the mesh has become much larger or smaller since it was made.
    pub(super) fn fits(&self, places: &impl Places) -> bool {
        self.merged.as_ref().is_none_or(|merged| {
            let now = longest(&self.points, places);
            now <= 2.0 * merged.longest && merged.longest <= 2.0 * now
        })
    }

    /// Returns true for each value of the surface that belongs to one of its points that are
    /// `marked`: that of the point, or those of all triangles there.
    pub(super) fn touched(&self, place: Place, marked: &[bool]) -> Vec<bool> {
        let is_marked = |corner: &u32| marked.get(*corner as usize).is_some_and(|is| *is);
        match place {
            Place::Points => marked.to_vec(),
            Place::Cells => {
                let triangles = self.corners.iter();
                triangles.map(|t| t.iter().any(is_marked)).collect()
            }
        }
    }
}

fn corners(polygon: Polygon) -> impl Iterator<Item = u32> {
    polygon.into_iter().filter(|point| *point != NO_POINT)
}

/// Returns the greatest extent of points along an axis.
fn longest(points: &[u32], places: &impl Places) -> f64 {
    let mut bounds: Option<Bounds> = None;
    let shown = points.iter().map(|point| places.get(*point as usize));
    shown
        .filter(|place| is_usable(*place))
        .for_each(|place| extend(&mut bounds, place));
    let [low, high] = bounds.unwrap_or_default();
    let extents = (0..3).map(|axis| high[axis] - low[axis]);
    extents.fold(0.0, f64::max)
}
