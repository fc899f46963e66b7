//! Meshes that Python declares.

use crate::errors;
use crate::values::{Values, attrs};
use pyo3::prelude::*;
use tcasm_core::field::{Block, CellType, Cells, MeshDesc, MeshKind};

/// A mesh as Python declares it: its kind, and what that needs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Declared {
    name: String,
    kind: String,
    geometry: Vec<String>,
    cell_type: Option<u8>,
    points: [usize; 3],
    origin: [f64; 3],
    spacing: [f64; 3],
    block: Option<Place>,
    attrs: Values,
}

/// The place of a block, as Python declares it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Place {
    /// None of a block that stays one of the same whole.
    of: Option<String>,
    level: u32,
    refinement: [u32; 3],
    offset: [i64; 3],
}

impl From<Place> for Block {
    fn from(place: Place) -> Self {
        Block {
            of: place.of.unwrap_or_default(),
            level: place.level,
            refinement: place.refinement,
            offset: place.offset,
        }
    }
}

/// Returns the description of the mesh.
pub fn described(mesh: Declared) -> PyResult<MeshDesc> {
    let block = mesh.block.map(Block::from);
    let geometry = mesh.geometry;
    let kind = match (mesh.kind.as_str(), &geometry[..]) {
        ("uniform", []) => MeshKind::Uniform {
            points: mesh.points,
            origin: mesh.origin,
            spacing: mesh.spacing,
        },
        ("rectilinear", [_, ..]) => MeshKind::Rectilinear {
            coordinates: geometry,
        },
        ("curvilinear", [coordinates]) => MeshKind::Curvilinear {
            coordinates: coordinates.clone(),
        },
        ("particles", [positions]) => MeshKind::Particles {
            positions: positions.clone(),
        },
        ("unstructured", [points, cells @ ..]) => MeshKind::Unstructured {
            points: points.clone(),
            cells: cells_of(mesh.cell_type, cells)?,
        },
        (kind, _) => return Err(wrong(kind, geometry.len())),
    };
    Ok(MeshDesc {
        name: mesh.name,
        kind,
        block,
        attrs: attrs(mesh.attrs),
    })
}

fn cells_of(cell_type: Option<u8>, fields: &[String]) -> PyResult<Cells> {
    match (cell_type, fields) {
        (Some(number), [connectivity]) => Ok(Cells::Same {
            cell_type: CellType(number),
            connectivity: connectivity.clone(),
        }),
        (None, [connectivity, offsets, types]) => Ok(Cells::Mixed {
            connectivity: connectivity.clone(),
            offsets: offsets.clone(),
            types: types.clone(),
        }),
        _ => Err(wrong("unstructured", fields.len() + 1)),
    }
}

fn wrong(kind: &str, fields: usize) -> PyErr {
    errors::other(format!(
        "no {kind} mesh has {fields} fields as its geometry"
    ))
}
