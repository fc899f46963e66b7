//! The surface of an unstructured mesh, as a screen shows it. If it has more triangles than a
//! screen needs, a coarser one takes its place.

use super::MeshError;
use super::cells::CellList;
use super::coarse::coarse;
use super::faces::{MAX_CELLS, POINTS_PER_CELL, outer};
use super::points::Places;
use super::triangles::Surface;

/// The limits of surfaces.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// Maximum number of cells whose surface is looked for.
    pub cells: usize,
    /// Maximum number of triangles.
    pub triangles: usize,
}

/// Returns the surface of cells between these points. If it has too many triangles, it is a coarser
/// one, with points where they are now.
pub fn surface(
    cells: &CellList<'_>,
    places: &impl Places,
    most: Most,
) -> Result<Surface, MeshError> {
    let (mesh, count, points) = (cells.mesh().to_owned(), cells.count(), cells.points());
    // The number of a face must fit in 32 bits, and so must that of a point.
    let most_cells = most.cells.min(MAX_CELLS);
    let most_points = most_cells * POINTS_PER_CELL;
    if count > most_cells || points > most_points {
        return Err(MeshError::TooLarge {
            mesh,
            points,
            cells: count,
            most: most_cells,
            most_points,
        });
    }
    let outer = outer(cells)?;
    let (triangles, most) = (outer.triangles, most.triangles);
    match triangles {
        0 => Err(MeshError::NoSurface(mesh)),
        _ if triangles <= most => outer.surface(cells),
        _ => coarse(cells, &outer, places, most)?.ok_or(MeshError::Triangles {
            mesh,
            triangles,
            most,
        }),
    }
}
