//! The check of the cells of a version's unstructured meshes, without which VTK would read beyond
//! its arrays.

use crate::error::WriteError;
use crate::format::cells::{self, Integers};
use crate::snapshot::Snapshot;
use tcasm_core::field::{Cells, FieldDesc, FieldTable, MeshDesc, MeshKind};

/// Returns the names of the meshes whose cells VTK cannot have, each with its defect.
pub fn defects(snapshot: &Snapshot<'_>) -> Result<Vec<(String, String)>, WriteError> {
    let mut defects = Vec::new();
    for mesh in &snapshot.table.meshes {
        if let Some(why) = defect(snapshot, mesh)? {
            defects.push((mesh.name.clone(), why));
        }
    }
    Ok(defects)
}

/// Returns the defect of the cells of `mesh`, or `None` if VTK can have them. The text names the
/// cell, the value and the limit.
pub fn defect(snapshot: &Snapshot<'_>, mesh: &MeshDesc) -> Result<Option<String>, WriteError> {
    let MeshKind::Unstructured { points, cells } = &mesh.kind else {
        return Ok(None);
    };
    let table = snapshot.table;
    let integers = |name: &str| integers(snapshot, name);
    let count = table.get(points).map_or(0, first_extent);
    Ok(match cells {
        Cells::Same { connectivity, .. } => {
            let corners = corners(table, connectivity);
            cells::same(count, corners, &integers(connectivity)?)
        }
        Cells::Mixed {
            connectivity,
            offsets,
            types,
        } => {
            let (ids, offsets) = (integers(connectivity)?, integers(offsets)?);
            cells::mixed(count, &ids, &offsets, &integers(types)?)
        }
    })
}

/// Returns the values of the field called `name`.
fn integers<'a>(snapshot: &Snapshot<'a>, name: &str) -> Result<Integers<'a>, WriteError> {
    match snapshot.table.get(name) {
        Some(field) => Ok(Integers::of(field, snapshot.bytes(field)?)),
        None => Ok(Integers::default()),
    }
}

fn first_extent(field: &FieldDesc) -> usize {
    field.shape.first().copied().unwrap_or(0)
}

/// Returns the number of points of each cell.
fn corners(table: &FieldTable, connectivity: &str) -> usize {
    table.get(connectivity).map_or(1, |field| field.components)
}
