//! The named meshes of a region, as JSON and as text.

use crate::output::{self, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use tcasm_core::field::{Attr, Block, FieldTable, Mesh, MeshDesc, MeshKind};

/// A named mesh. The names of the fields are the JSON keys, which scripts rely on.
#[derive(Debug, Serialize)]
pub struct NamedMesh {
    pub name: String,
    pub kind: &'static str,
    /// The extents of a field on its points, slowest axis first.
    pub points: Vec<usize>,
    /// The extents of a field in its cells, slowest axis first.
    pub cells: Vec<usize>,
    /// The origin and the spacing of a uniform mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uniform: Option<Mesh>,
    /// The names of the fields that are its geometry.
    pub geometry: Vec<String>,
    /// The names of the fields on it.
    pub fields: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Block>,
    pub attrs: BTreeMap<String, Attr>,
}

/// Describes the meshes of a version.
pub fn of(table: &FieldTable) -> Vec<NamedMesh> {
    table.meshes.iter().map(|mesh| named(table, mesh)).collect()
}

fn named(table: &FieldTable, mesh: &MeshDesc) -> NamedMesh {
    let size = table.size_of(mesh);
    let (points, cells) = size.map_or_else(|_| Default::default(), |s| (s.points, s.cells));
    let uniform = match mesh.kind {
        MeshKind::Uniform {
            origin, spacing, ..
        } => Some(Mesh { origin, spacing }),
        _ => None,
    };
    NamedMesh {
        name: mesh.name.clone(),
        kind: mesh.kind_name(),
        points,
        cells,
        uniform,
        geometry: mesh.geometry().into_iter().map(str::to_owned).collect(),
        fields: table
            .fields_on(&mesh.name)
            .map(|f| f.name.clone())
            .collect(),
        block: mesh.block.clone(),
        attrs: mesh.attrs.clone(),
    }
}

/// Renders the meshes as a table.
pub fn text(meshes: &[NamedMesh]) -> String {
    let mut table = Table::indented(2);
    table.row(["NAME", "KIND", "POINTS", "CELLS", "GEOMETRY", "BLOCK"]);
    for mesh in meshes {
        table.row([
            mesh.name.clone(),
            mesh.kind.to_owned(),
            output::shape(&mesh.points),
            output::shape(&mesh.cells),
            geometry(mesh),
            mesh.block.as_ref().map_or("-".to_owned(), block),
        ]);
    }
    table.render()
}

fn geometry(mesh: &NamedMesh) -> String {
    match &mesh.uniform {
        Some(_) if mesh.points.contains(&0) => "unused".to_owned(),
        Some(uniform) => placed(uniform),
        None => mesh.geometry.join(", "),
    }
}

/// Describes a uniform mesh, such as `from (0, 0, 0) by (1, 1, 1)`.
pub fn placed(mesh: &Mesh) -> String {
    let [x, y, z] = mesh.origin.map(output::number);
    let [dx, dy, dz] = mesh.spacing.map(output::number);
    format!("from ({x}, {y}, {z}) by ({dx}, {dy}, {dz})")
}

fn block(block: &Block) -> String {
    let [x, y, z] = block.offset;
    let [rx, ry, rz] = block.refinement;
    format!(
        "level {} of {}, from cell ({x}, {y}, {z}), refined {rx} x {ry} x {rz}",
        block.level, block.of
    )
}
