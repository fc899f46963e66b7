//! The description of named meshes for clients.

use serde::Serialize;
use tcasm_core::field::{Block, FieldTable, Mesh as Uniform, MeshDesc, MeshKind};

/// A named mesh.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // PROTOCOL.md describes the fields.
pub struct Mesh {
    pub name: String,
    pub kind: &'static str,
    pub points: Vec<usize>,
    pub cells: Vec<usize>,
    pub units: [String; 3],
    pub geometry: Vec<String>,
    pub fields: Vec<String>,
    pub block: Option<Block>,
}

/// Returns the origin and the spacing of a uniform mesh.
pub fn uniform(mesh: &MeshDesc) -> Option<Uniform> {
    match mesh.kind {
        MeshKind::Uniform {
            origin, spacing, ..
        } => Some(Uniform { origin, spacing }),
        _ => None,
    }
}

impl Mesh {
    /// Returns the description for clients of a mesh of `table`.
    pub fn of(mesh: &MeshDesc, table: &FieldTable) -> Self {
        let names =
            |names: Vec<&str>| -> Vec<String> { names.into_iter().map(str::to_owned).collect() };
        let size = table.size_of(mesh).ok();
        let (points, cells) = size.map_or_else(Default::default, |s| (s.points, s.cells));
        Mesh {
            name: mesh.name.clone(),
            kind: mesh.kind_name(),
            points,
            cells,
            units: units(mesh, table),
            geometry: names(mesh.geometry()),
            fields: names(
                table
                    .fields_on(&mesh.name)
                    .map(|f| f.name.as_str())
                    .collect(),
            ),
            block: mesh.block.clone(),
        }
    }
}

/// Returns the units of the coordinates x, y, z of a mesh, as texts, which are empty if there are
/// none.
fn units(mesh: &MeshDesc, table: &FieldTable) -> [String; 3] {
    let unit = |name: &String| table.get(name).map_or_else(String::new, |f| f.unit.clone());
    match &mesh.kind {
        MeshKind::Uniform { .. } => Default::default(),
        MeshKind::Rectilinear { coordinates } => {
            [0, 1, 2].map(|axis| coordinates.get(axis).map_or_else(String::new, unit))
        }
        MeshKind::Curvilinear { coordinates: field }
        | MeshKind::Unstructured { points: field, .. }
        | MeshKind::Particles { positions: field } => [(); 3].map(|()| unit(field)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::Field;
    use tcasm_core::field::{DType, FieldDesc};

    fn mesh(name: &str, kind: MeshKind) -> MeshDesc {
        MeshDesc {
            name: name.to_owned(),
            kind,
            block: None,
            attrs: Default::default(),
        }
    }

    #[test]
    fn clients_learn_the_meshes_and_the_fields_on_them() {
        let mut x = FieldDesc::new("x", DType::F64, &[5]);
        (x.components, x.capacity, x.unit) = (2, Some(9), "nm".to_owned());
        let mut v = FieldDesc::new("v1", DType::F64, &[5]);
        (v.on, v.quantity) = (Some("atoms".to_owned()), Some("v".to_owned()));
        let mut t = FieldDesc::new("t", DType::F64, &[2, 3]);
        t.on = Some("grid".to_owned());
        let positions = "x".to_owned();
        let uniform = MeshKind::Uniform {
            points: [3, 2, 1],
            origin: [1.0, 2.0, 3.0],
            spacing: [0.5, 0.25, 1.0],
        };
        let table = FieldTable {
            fields: vec![x, v, t],
            meshes: vec![
                mesh("atoms", MeshKind::Particles { positions }),
                mesh("grid", uniform),
            ],
            ..FieldTable::default()
        };
        table.check_meshes().unwrap();
        let [x, v, t] = [0, 1, 2].map(|i| Field::of(&table.fields[i], &table));
        for (field, quantity) in [(&x, "x"), (&v, "v")] {
            assert_eq!(field.mesh_kind, Some("particles"));
            assert_eq!(
                (field.mesh.as_deref(), &*field.quantity),
                (Some("atoms"), quantity)
            );
        }
        assert_eq!((x.capacity, v.capacity), (Some(9), None));
        assert_eq!(
            (t.origin, t.spacing),
            (Some(vec![2.0, 1.0]), Some(vec![0.25, 0.5]))
        );
        let atoms = Mesh::of(&table.meshes[0], &table);
        assert_eq!(
            (atoms.points, atoms.fields, atoms.geometry),
            (vec![5], vec!["v1".to_owned()], vec!["x".to_owned()])
        );
        assert_eq!(atoms.units, ["nm", "nm", "nm"]);
    }
}
