//! Tables of versions of which the memory of some fields was lost.

use super::desc::FieldDesc;
use super::table::FieldTable;
use std::borrow::Cow;

impl FieldTable {
    /// Returns the [lost](FieldDesc::lost) fields: those of a version, and those that a file lacks.
    pub fn lost(&self) -> impl Iterator<Item = &FieldDesc> {
        let all = self.fields.iter().chain(&self.lacking);
        all.filter(|field| field.lost)
    }

    /// Returns true if the values of the field called `name` are lost.
    pub fn is_lost(&self, name: &str) -> bool {
        self.lost().any(|field| field.name == name)
    }

    /// Returns the table as a file can store it, which has no values of lost fields: they are
    /// `lacking`. Meshes whose geometry is lost are left out, and the fields on them are on none.
    pub fn without_lost(&self) -> Cow<'_, FieldTable> {
        if !self.fields.iter().any(|field| field.lost) {
            return Cow::Borrowed(self);
        }
        let mut table = self.clone();
        let lost: Vec<FieldDesc> = table.fields.extract_if(.., |field| field.lost).collect();
        let is_whole = |geometry: Vec<&str>| !lost.iter().any(|f| geometry.contains(&&*f.name));
        table.meshes.retain(|mesh| is_whole(mesh.geometry()));
        for field in &mut table.fields {
            let mesh = field.on.take();
            field.on = mesh.filter(|name| table.meshes.iter().any(|mesh| mesh.name == *name));
        }
        table
            .lacking
            .extend(lost.into_iter().map(|field| FieldDesc {
                // Without its geometry there is no mesh.
                not_in_checkpoints: field.not_in_checkpoints
                    && self.geometry_of(&field.name).is_none(),
                ..field
            }));
        Cow::Owned(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{DType, MeshDesc, MeshKind};

    /// Returns the field `t` on the particles at `x`, and the field `u`.
    fn table() -> FieldTable {
        let mut t = FieldDesc::new("t", DType::F64, &[4]);
        t.on = Some("p".to_owned());
        let mut x = FieldDesc::new("x", DType::F64, &[4]);
        x.not_in_checkpoints = true;
        let particles = MeshDesc {
            name: "p".to_owned(),
            kind: MeshKind::Particles {
                positions: "x".to_owned(),
            },
            block: None,
            attrs: Default::default(),
        };
        FieldTable {
            fields: vec![t, x, FieldDesc::new("u", DType::F32, &[2])],
            meshes: vec![particles],
            ..FieldTable::default()
        }
    }

    fn names(fields: &[FieldDesc]) -> Vec<&str> {
        fields.iter().map(|field| field.name.as_str()).collect()
    }

    #[test]
    fn lost_field_is_lacking_and_all_others_stay() {
        let mut table = table();
        assert!(matches!(table.without_lost(), Cow::Borrowed(_)));
        table.fields[2].lost = true;
        let stored = table.without_lost();
        assert_eq!(names(&stored.fields), ["t", "x"]);
        assert_eq!(names(&stored.lacking), ["u"]);
        assert_eq!(stored.meshes, table.meshes);
        assert_eq!(stored.fields[0].on.as_deref(), Some("p"));
        assert!(stored.is_lost("u") && table.is_lost("u") && !stored.is_lost("t"));
        let missing: Vec<&str> = stored.missing().map(|field| field.name.as_str()).collect();
        assert_eq!(missing, ["u"]);
    }

    #[test]
    fn mesh_without_its_geometry_is_left_out() {
        let mut table = table();
        table.fields[1].lost = true;
        let stored = table.without_lost();
        assert_eq!(names(&stored.fields), ["t", "u"]);
        assert!(stored.meshes.is_empty());
        assert_eq!(stored.fields[0].on, None);
        assert_eq!(stored.missing().count(), 1, "a restart needs the mesh");
    }
}
