//! The fields and the meshes that a view of a version shows.

use crate::image::{Image, Profile};
use crate::mesh::{self, Fields, Grid, Lattice, MeshError, Place};
use crate::request::Slice;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_observer::View;

/// Returns a field with its bytes, or the reason why there is none.
pub fn field_of<'v>(view: &'v View, name: &str) -> Result<(&'v FieldDesc, &'v [u8]), String> {
    let desc = view.field(name).map_err(|e| e.to_string())?;
    // A field without values is not mapped.
    let bytes = match desc.bytes() {
        0 => Ok(&[] as &[u8]),
        _ => view.bytes_of(desc),
    };
    Ok((desc, bytes.map_err(|e| e.to_string())?))
}

/// The fields that a view shows.
pub struct Seen<'v>(pub &'v View);

impl Fields for Seen<'_> {
    fn table(&self) -> &FieldTable {
        self.0.version().table()
    }

    fn get(&self, name: &str) -> Result<(&FieldDesc, &[u8]), MeshError> {
        field_of(self.0, name).map_err(MeshError::Field)
    }

    fn version(&self) -> u64 {
        self.0.version().number()
    }

    fn same_as_before(&self, names: &[&str]) -> bool {
        let changes = self.0.version().changes();
        changes.is_ok_and(|changes| {
            let mut changed = changes.fields.iter();
            !changed.any(|field| names.contains(&field.as_str()))
        })
    }
}

/// Returns the points of the structured mesh of a field, if its coordinates are fields. Returns
/// also the number of axes of the field, and whether its values are in cells.
pub fn lattice_of<'f>(
    fields: &'f Seen<'_>,
    name: &str,
) -> Result<Option<(Lattice<'f>, usize, bool)>, String> {
    let (desc, _) = field_of(fields.0, name)?;
    let Some((mesh, place)) = mesh::mesh_of(fields.table(), desc) else {
        return Ok(None);
    };
    let lattice = mesh::lattice(fields, mesh).map_err(|e| e.to_string())?;
    Ok(lattice.map(|lattice| (lattice, desc.shape.len(), place == Place::Cells)))
}

pub fn grid_of(
    fields: &Seen<'_>,
    name: &str,
    slice: &Slice,
    image: &Image,
) -> Result<Option<Grid>, String> {
    let found = lattice_of(fields, name)?.filter(|(_, count, _)| *count > 1);
    Ok(found.map(|(lattice, count, cells)| mesh::grid(&lattice, count, cells, slice, image)))
}

/// Returns the coordinates of the values of a line, if the mesh has coordinates along its axis.
pub fn places_of(fields: &Seen<'_>, name: &str, line: &Profile) -> Result<Vec<f64>, String> {
    let places = lattice_of(fields, name)?.map(|(lattice, count, cells)| {
        let samples = line.values.len();
        mesh::places(&lattice, count, cells, line.axis, line.block, samples)
    });
    Ok(places.unwrap_or_default())
}
