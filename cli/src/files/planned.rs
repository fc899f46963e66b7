//! The parts of the fields and meshes of a table that are stored.

use crate::files::cut::Cut;
use tcasm_analytics::Extract;
use tcasm_core::field::{FieldDesc, FieldTable, Mesh, MeshDesc, MeshKind};

/// The part of a table that is stored.
pub struct Planned<'t> {
    /// The fields, in the order of the table.
    pub fields: Vec<&'t FieldDesc>,
    /// The parts of the meshes, if only a part of each field is stored.
    pub cut: Option<Cut<'t>>,
}

impl Planned<'_> {
    /// Returns `field` as it is stored, still whole. If it is not on the part of its mesh, it is on
    /// none. If that mesh is a uniform one, the field gets it for itself, so its part has a place.
    pub fn placed(&self, table: &FieldTable, field: &FieldDesc) -> FieldDesc {
        let cut = self.cut.as_ref();
        if cut.is_none_or(|cut| cut.is_on_mesh(field)) {
            return field.clone();
        }
        let mesh = match table.mesh_of(field).map(|mesh| &mesh.kind) {
            Some(MeshKind::Uniform {
                origin, spacing, ..
            }) => Some(Mesh {
                origin: *origin,
                spacing: *spacing,
            }),
            _ => field.mesh,
        };
        FieldDesc {
            on: None,
            mesh,
            ..field.clone()
        }
    }

    /// Returns what is taken of `field`, if `extract` is taken of fields that are no geometry.
    pub fn extract(&self, field: &FieldDesc, extract: &Extract) -> Extract {
        match &self.cut {
            Some(cut) => cut.extract(field, extract),
            None => extract.clone(),
        }
    }

    /// Returns true if there are parts of meshes.
    pub fn has_cut_meshes(&self) -> bool {
        self.cut.as_ref().is_some_and(|cut| !cut.is_empty())
    }

    /// Returns the names of the meshes of `table` that fields are on, and that are not stored
    /// because only a part of each field is, and why.
    pub fn cut_meshes(&self, table: &FieldTable) -> Vec<(String, &'static str)> {
        let Some(cut) = &self.cut else {
            return Vec::new();
        };
        let is_used = |mesh: &&MeshDesc| self.fields.iter().any(|field| is_on(mesh, field));
        let lacks = |mesh: &MeshDesc| match &mesh.kind {
            _ if cut.has(mesh) => None,
            MeshKind::Uniform { .. } => None,
            MeshKind::Unstructured { .. } => Some("its points are cut"),
            _ => Some("no part of its points fits the fields on it"),
        };
        let meshes = table.meshes.iter().filter(is_used);
        let lacking = meshes.filter_map(|mesh| Some((mesh.name.clone(), lacks(mesh)?)));
        lacking.collect()
    }
}

/// Returns true if `field` is on `mesh`.
pub fn is_on(mesh: &MeshDesc, field: &FieldDesc) -> bool {
    field.on.as_ref() == Some(&mesh.name)
}
