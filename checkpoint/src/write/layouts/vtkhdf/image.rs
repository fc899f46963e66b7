//! Images: the fields on a uniform grid. A file of a version without named meshes is one image.

use super::common::{VERSION, describe_version};
use crate::file::Fault;
use crate::snapshot::Snapshot;
use crate::write::attributes;
use crate::write::layouts::grid::Grid;
use crate::write::store::{FileLayout, Store};
use hdf5::{Dataset, File, Group};
use tcasm_core::field::{Centering, FieldDesc};

/// The image of a file.
pub struct Image {
    grid: Grid,
    points: Group,
    cells: Group,
}

impl Image {
    /// Creates the image of `snapshot`, still without fields.
    pub fn create(file: &File, snapshot: &Snapshot<'_>) -> Result<Self, Fault> {
        let grid = Grid::of(snapshot.table);
        let image = file.create_group("VTKHDF")?;
        describe_image(&image, &grid)?;
        describe_version(&image.create_group("FieldData")?, snapshot.stamp)?;
        Ok(Image {
            points: image.create_group("PointData")?,
            cells: image.create_group("CellData")?,
            grid,
        })
    }
}

impl FileLayout for Image {
    fn store(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Vec<Dataset>, Fault> {
        let group = match field.centering {
            Centering::Cell => &self.cells,
            _ => &self.points,
        };
        match self.grid.shape_of(field) {
            Some(shape) => to.both(&to.target(group, &field.name, &shape), field, bytes),
            None => Ok(vec![to.own(field, bytes)?]),
        }
    }
}

/// Writes the attributes of an image. Extents start at 0 and count points, x first. `Direction` is
/// required. Older readers fail otherwise.
pub fn describe_image(image: &Group, grid: &Grid) -> Result<(), Fault> {
    let [z, y, x] = grid.points.map(|n| n as i64 - 1);
    attributes::numbers(image, "Version", &VERSION)?;
    attributes::ascii::<9>(image, "Type", "ImageData")?;
    attributes::numbers(image, "WholeExtent", &[0, x, 0, y, 0, z])?;
    attributes::numbers(image, "Origin", &grid.mesh.origin)?;
    attributes::numbers(image, "Spacing", &grid.mesh.spacing)?;
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0_f64];
    attributes::numbers(image, "Direction", &identity)?;
    Ok(())
}
