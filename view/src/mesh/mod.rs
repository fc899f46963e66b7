//! The geometry of named meshes, as a screen shows it.
//!
//! A [`Scene`] is a mesh in space: points, or the surface of its cells, with a value at each. It is
//! made for fields on particles and on unstructured meshes. A [`Grid`] has the places of the
//! samples of a slice through a rectilinear or curvilinear mesh. A [`Raster`] is either of them on
//! a screen of few pixels. The blocks of a block-structured mesh are shown as one whole.
//!
//! The geometry is fields of the region, so it may have any values. All of them are checked here:
//! points without a usable place are left out and counted, and cells that cannot be are errors.

mod blocks;
mod cache;
mod cells;
mod coarse;
mod error;
mod faces;
mod fields;
mod grid;
mod lattice;
mod points;
mod raster;
mod sample;
mod scene;
mod surface;
#[cfg(test)]
mod tests;
mod triangles;
mod values;

pub use crate::request::MAX_TRIANGLES;
pub(crate) use blocks::{
    Cells, Used, Whole, block_at, check_cells, cut, is_whole, members_of, whole, wholes,
};
pub(crate) use cache::Cache;
pub use error::MeshError;
pub use faces::MAX_CELLS;
pub(crate) use fields::{Fields, Place, geometry_of, mesh_of};
pub use grid::{Grid, MAX_SIDE};
pub(crate) use grid::{grid, places};
pub(crate) use lattice::{Lattice, lattice};
pub use points::FARTHEST;
pub use raster::Raster;
pub use scene::Scene;
pub(crate) use scene::scene;
pub use triangles::Surface;
pub(crate) use values::Extent;

/// The least and the greatest coordinates x, y, z of some points.
pub type Bounds = [[f64; 3]; 2];

/// Returns the middle of a box.
fn middle([low, high]: &Bounds) -> [f64; 3] {
    [0, 1, 2].map(|axis| low[axis] / 2.0 + high[axis] / 2.0)
}

/// Extends the box `bounds` to the point.
fn extend(bounds: &mut Option<Bounds>, point: [f64; 3]) {
    let [low, high] = bounds.get_or_insert([point; 2]);
    for ((low, high), x) in low.iter_mut().zip(high).zip(point) {
        *low = low.min(x);
        *high = high.max(x);
    }
}

/// Returns a place relative to `origin`, in 32 bits.
fn relative(point: [f64; 3], origin: [f64; 3]) -> [f32; 3] {
    [0, 1, 2].map(|axis| (point[axis] - origin[axis]) as f32)
}
