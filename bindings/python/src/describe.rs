//! Descriptions of fields and meshes, as dictionaries. The package makes dataclasses of them.

use crate::values::{Values, centring_name, order_name, values};
use pyo3::prelude::*;
use tcasm_core::field::{Cells, FieldDesc, FieldTable, Kind, MeshDesc, MeshKind};

/// The description of a field.
#[derive(IntoPyObject)]
pub struct FieldDict {
    name: String,
    dtype: &'static str,
    shape: Vec<usize>,
    strides: Vec<usize>,
    components: usize,
    order: &'static str,
    ghosts: Vec<(usize, usize)>,
    unit: String,
    centring: &'static str,
    mesh: Option<String>,
    origin: Option<[f64; 3]>,
    spacing: Option<[f64; 3]>,
    quantity: String,
    capacity: Option<usize>,
    in_checkpoints: bool,
    structure: Option<String>,
    attrs: Values,
}

impl FieldDict {
    pub fn new(field: &FieldDesc) -> Self {
        let mesh = field.usable_mesh();
        let structure = match &field.kind {
            Kind::Raw { type_name, .. } => Some(type_name.clone()),
            Kind::Array => None,
        };
        FieldDict {
            name: field.name.clone(),
            dtype: field.dtype.name(),
            shape: field.array_shape(),
            strides: bytes_between(field),
            components: field.components,
            order: order_name(field.order),
            ghosts: field.ghosts.iter().map(|g| (g[0], g[1])).collect(),
            unit: field.unit.clone(),
            centring: centring_name(field.centering),
            mesh: field.on.clone(),
            origin: mesh.map(|m| m.origin),
            spacing: mesh.map(|m| m.spacing),
            quantity: field.quantity().to_owned(),
            capacity: field.capacity,
            in_checkpoints: !field.not_in_checkpoints,
            structure,
            attrs: values(&field.attrs),
        }
    }
}

/// Returns the strides of the array in bytes.
fn bytes_between(field: &FieldDesc) -> Vec<usize> {
    let strides = field.array_strides().into_iter();
    strides.map(|n| n * field.dtype.size()).collect()
}

/// The description of a mesh.
#[derive(IntoPyObject)]
pub struct MeshDict {
    name: String,
    kind: &'static str,
    geometry: Vec<String>,
    cell_type: Option<u8>,
    points: Option<[usize; 3]>,
    origin: Option<[f64; 3]>,
    spacing: Option<[f64; 3]>,
    block: Option<BlockDict>,
    attrs: Values,
}

/// The place of a block.
#[derive(IntoPyObject)]
struct BlockDict {
    of: String,
    level: u32,
    refinement: [u32; 3],
    offset: [i64; 3],
}

/// Returns the meshes of a table.
pub fn mesh_dicts(table: &FieldTable) -> Vec<MeshDict> {
    table.meshes.iter().map(MeshDict::new).collect()
}

impl MeshDict {
    fn new(mesh: &MeshDesc) -> Self {
        let (points, origin, spacing) = match mesh.kind {
            MeshKind::Uniform {
                points,
                origin,
                spacing,
            } => (Some(points), Some(origin), Some(spacing)),
            _ => (None, None, None),
        };
        let cell_type = match &mesh.kind {
            MeshKind::Unstructured {
                cells: Cells::Same { cell_type, .. },
                ..
            } => Some(cell_type.0),
            _ => None,
        };
        let block = mesh.block.as_ref().map(|block| BlockDict {
            of: block.of.clone(),
            level: block.level,
            refinement: block.refinement,
            offset: block.offset,
        });
        MeshDict {
            name: mesh.name.clone(),
            kind: mesh.kind_name(),
            geometry: mesh.geometry().into_iter().map(str::to_owned).collect(),
            cell_type,
            points,
            origin,
            spacing,
            block,
            attrs: values(&mesh.attrs),
        }
    }
}

/// The difference between two versions.
#[derive(IntoPyObject)]
pub struct Changed {
    pages: usize,
    fields: Vec<String>,
}

impl From<tcasm_observer::Changes> for Changed {
    fn from(changes: tcasm_observer::Changes) -> Self {
        Changed {
            pages: changes.pages.len(),
            fields: changes.fields,
        }
    }
}
