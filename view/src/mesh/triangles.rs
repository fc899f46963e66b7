//! A surface of triangles, and what it stands for if it is coarser than that of the mesh.

/// A surface of triangles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surface {
    /// The numbers of the points on the surface, in ascending order.
    pub points: Vec<u32>,
    /// The corners of each triangle, as places in `points`.
    pub corners: Vec<[u32; 3]>,
    /// The cell of each triangle, in ascending order.
    pub cells: Vec<u32>,
    /// Number of triangles of the whole surface. There are fewer here if this one is coarser.
    pub all: usize,
    /// The points and cells that a coarser surface stands for; `None` for the whole surface.
    pub(crate) merged: Option<Merged>,
}

/// The points and cells that a coarser surface stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The place in [`Surface::points`] of each point of the mesh. Points that are not merged have
    /// numbers that are no places.
    pub(super) of_point: Vec<u32>,
    /// The cells of the surface in ascending order, each with the place of one of its corners.
    pub(super) of_cell: Vec<(u32, u32)>,
    /// Number of points of the surface that were left out, because of their coordinates.
    pub invalid_points: usize,
    /// The greatest extent of the surface along an axis.
    pub(super) longest: f64,
}
