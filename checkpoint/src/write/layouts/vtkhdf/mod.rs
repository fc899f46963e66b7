//! The part of a VTKHDF file for other programs, beside `/tcasm`, which ParaView, VisIt and h5py
//! open without a plugin. What it is depends on the meshes of the version:
//!
//! ```text
//! no named mesh             an image of the grid that the fields have: see below
//! one mesh                  its type, at /VTKHDF
//! several                   a collection: /VTKHDF/<mesh> for each, and /VTKHDF/Assembly
//!
//! uniform                   ImageData: Version, Type, WholeExtent, Origin, Spacing, Direction
//! rectilinear, curvilinear,
//! unstructured              UnstructuredGrid: NumberOfPoints, NumberOfCells,
//!                           NumberOfConnectivityIds, Points, Connectivity, Offsets, Types
//! particles                 PolyData: NumberOfPoints, Points, and a vertex for each particle
//!
//! each of them has:
//!   PointData/ CellData/    the fields on its points and in its cells, without ghost layers
//!   FieldData/              TimeValue, step, version; of a block also level, refinement, offset
//! ```
//!
//! VTK 9.7 does not read the FieldData of a collection's data sets. At the root of the collection
//! it would take the group for one more data set.
//!
//! Grids with coordinates are unstructured grids, because only VTK 9.6 and later read the types
//! that VTKHDF has for them. All versions that read time series read the unstructured ones. Uniform
//! meshes are unstructured grids too in a time series of several meshes: there VTK 9.7 takes an
//! image for one without times. So is a single one that moves, or whose size may change: an image
//! has one place and one size. The points and cells of such grids are several times as large as a
//! field. So only exports and time series have them, and only if a field that VTK shows is on the
//! mesh. A uniform mesh that is unused in a version is not in its file, and has no points in a time
//! series.
//!
//! A field whose values have the form that VTK needs is stored once: here and under `/tcasm`. VTK
//! needs points and cells along a single axis, so the dataset of such a field has one axis in place
//! of several.

mod axis;
mod cells;
mod collection;
mod common;
mod explicit;
mod geometry;
mod image;
mod made;
mod meshes;
mod names;
mod places;
mod plan;
mod reasons;
mod unstructured;

pub use cells::{defect, defects};
pub use collection::{create as create_collection, ordered, root};
pub use common::describe_version;
pub use explicit::{Counts, Explicit, Source, TOPOLOGIES, no_ids, numbers};
pub use geometry::Geometry;
pub use image::describe_image;
pub use made::Made;
pub use meshes::describe_blocks;
pub use names::free_name;
pub use places::{Place, places, places_in_series};
pub use plan::{Data, Plan, Shown, group_of};

use crate::file::Fault;
use crate::options::Purpose;
use crate::snapshot::Snapshot;
use crate::write::store::FileLayout;
use hdf5::File;

/// Creates the part of `file` for other programs, still without fields.
pub fn create<'s>(
    file: &File,
    snapshot: &'s Snapshot<'_>,
    purpose: Purpose,
) -> Result<Box<dyn FileLayout + 's>, Fault> {
    Ok(match snapshot.table.meshes.is_empty() {
        true => Box::new(image::Image::create(file, snapshot)?),
        false => Box::new(meshes::Meshes::create(file, snapshot, purpose)?),
    })
}
