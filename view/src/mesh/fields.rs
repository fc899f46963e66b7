//! The fields of a version, and the meshes that their values are on.

use super::MeshError;
use super::points::Points;
use tcasm_core::field::{Centering, FieldDesc, FieldTable, MeshDesc, MeshKind};

/// The fields of a version.
pub trait Fields {
    /// Returns the description of all fields and meshes.
    fn table(&self) -> &FieldTable;
    /// Returns a field with its bytes.
    fn get(&self, name: &str) -> Result<(&FieldDesc, &[u8]), MeshError>;
    /// Returns the number of the version.
    fn version(&self) -> u64;
    /// Returns true if no page of these fields differs from the version with the number before. A
    /// field at another offset in the region may have other values nevertheless.
    fn same_as_before(&self, names: &[&str]) -> bool;
}

/// The place of values on a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Points,
    Cells,
}

/// Returns the mesh whose points or cells have the values of `desc`. The positions of the points of
/// a mesh are a field on its points, too.
pub fn mesh_of<'t>(table: &'t FieldTable, desc: &FieldDesc) -> Option<(&'t MeshDesc, Place)> {
    if let Some(mesh) = table.mesh_of(desc) {
        return match desc.centering {
            Centering::Point => Some((mesh, Place::Points)),
            Centering::Cell => Some((mesh, Place::Cells)),
            Centering::None => None,
        };
    }
    let is_its = |mesh: &&MeshDesc| match &mesh.kind {
        MeshKind::Particles { positions } => *positions == desc.name,
        MeshKind::Unstructured { points, .. } => *points == desc.name,
        MeshKind::Curvilinear { coordinates } => *coordinates == desc.name,
        MeshKind::Uniform { .. } | MeshKind::Rectilinear { .. } => false,
    };
    let mesh = table.meshes.iter().find(is_its)?;
    Some((mesh, Place::Points))
}

/// Returns the names of the fields that say where the values of the field `name` are.
pub fn geometry_of<'t>(table: &'t FieldTable, name: &str) -> Vec<&'t str> {
    let mesh = table.get(name).and_then(|desc| mesh_of(table, desc));
    mesh.map_or_else(Vec::new, |(mesh, _)| mesh.geometry())
}

/// Returns the points whose coordinates the field `name` has.
pub fn points_of<'f>(fields: &'f impl Fields, name: &str) -> Result<Points<'f>, MeshError> {
    let (desc, bytes) = fields.get(name)?;
    Points::of(desc, bytes)
}
