//! The lengths of fields, and meshes that change: all that differs between versions besides bytes.

use super::{Table, encoded};
use crate::counts::{following, on_uniform};
use crate::error::DefineError;
use std::collections::BTreeMap;
use tcasm_core::field::{FieldTable, MeshDesc, MeshDescError, MeshKind};

/// Lengths of fields, and descriptions of meshes, by their numbers.
#[derive(Debug)]
pub(crate) struct Sizes {
    pub(crate) lens: BTreeMap<usize, usize>,
    pub(crate) meshes: BTreeMap<usize, MeshDesc>,
}

impl Table {
    /// Sets the lengths of variable fields, known by their numbers, and of those that share a count
    /// with them. After an error all lengths are as they were.
    pub(crate) fn set_lens(&mut self, given: &BTreeMap<usize, usize>) -> Result<(), DefineError> {
        for (field, len) in given {
            self.check_variable(*field, *len)?;
            self.check_room(*field, *len)?;
        }
        let has = |(field, len): (&usize, &usize)| self.fields[*field].desc.length() == *len;
        if given.iter().all(has) {
            return Ok(());
        }
        let table = self.described();
        let lens = following(&table, given);
        let mut all = lens.iter();
        all.try_for_each(|(field, len)| self.check_room(*field, *len))?;
        let meshes = BTreeMap::new();
        let sizes = Sizes { lens, meshes };
        let checked = with_sizes(table, &sizes).check_meshes();
        checked.map_err(|error| self.with_advice(error))?;
        self.put_sizes(sizes);
        Ok(())
    }

    /// Gives meshes, known by their numbers, other descriptions, and the variable fields on uniform
    /// ones their lengths. After an error all are as they were.
    pub(crate) fn redefine(
        &mut self,
        meshes: BTreeMap<usize, MeshDesc>,
    ) -> Result<(), DefineError> {
        let has = |(number, mesh): (&usize, &MeshDesc)| self.meshes[*number] == *mesh;
        if meshes.iter().all(has) {
            return Ok(());
        }
        let numbers: Vec<usize> = meshes.keys().copied().collect();
        let lens = BTreeMap::new();
        let mut sizes = Sizes { lens, meshes };
        let table = with_sizes(self.described(), &sizes);
        sizes.lens = following(&table, &on_uniform(&table, &numbers));
        let mut all = sizes.lens.iter();
        all.try_for_each(|(field, len)| self.check_room(*field, *len))?;
        let before = self.sizes_of(&sizes);
        self.put_sizes(sizes);
        self.renew().map_err(|error| {
            self.put_sizes(before);
            of_places(error)
        })
    }

    /// Returns the error of lengths that a mesh forbids. Those on a uniform mesh follow from it.
    fn with_advice(&self, error: MeshDescError) -> DefineError {
        let is_uniform = |name: &str| {
            let mut meshes = self.meshes.iter();
            let mesh = meshes.find(|mesh| mesh.name == name);
            mesh.is_some_and(|mesh| matches!(mesh.kind, MeshKind::Uniform { .. }))
        };
        match error {
            MeshDescError::Shape { mesh, .. } if is_uniform(&mesh) => {
                DefineError::FixedMesh { mesh }
            }
            other => other.into(),
        }
    }

    /// Returns the lengths and the descriptions that the fields and meshes of `sizes` have now.
    fn sizes_of(&self, sizes: &Sizes) -> Sizes {
        let len = |field: &usize| (*field, self.fields[*field].desc.length());
        let mesh = |mesh: &usize| (*mesh, self.meshes[*mesh].clone());
        Sizes {
            lens: sizes.lens.keys().map(len).collect(),
            meshes: sizes.meshes.keys().map(mesh).collect(),
        }
    }

    /// Checks that the length of a field can be set.
    fn check_variable(&self, field: usize, asked: usize) -> Result<(), DefineError> {
        let desc = &self.fields[field].desc;
        match desc.capacity {
            Some(_) => Ok(()),
            None => Err(DefineError::FixedLength {
                field: desc.name.clone(),
                len: desc.length(),
                asked,
            }),
        }
    }

    /// Checks that a field has room for a length.
    fn check_room(&self, field: usize, len: usize) -> Result<(), DefineError> {
        let desc = &self.fields[field].desc;
        match desc.capacity {
            Some(capacity) if len > capacity => Err(DefineError::Length {
                field: desc.name.clone(),
                len,
                capacity,
            }),
            Some(_) if desc.has_ghosts() => {
                let mut desc = desc.clone();
                desc.set_length(len);
                desc.check()?; // something is left besides ghost layers
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Checks that these meshes allow for fields of these lengths, which the fields have room for,
    /// and that the next version has room for the table.
    pub(crate) fn check_sizes(&self, sizes: &Sizes) -> Result<(), DefineError> {
        let table = with_sizes(self.described(), sizes);
        table.check_meshes()?;
        encoded(&table).map(|_| ())
    }

    /// Sets lengths and descriptions, which [`Table::check_sizes`] has found fit.
    pub(crate) fn put_sizes(&mut self, sizes: Sizes) {
        for (field, len) in sizes.lens {
            self.fields[field].desc.set_length(len);
        }
        for (number, mesh) in sizes.meshes {
            self.meshes[number] = mesh;
        }
        self.encoded = None;
    }
}

/// Returns the error of meshes that were to be changed, of which `error` is the reason.
fn of_places(error: DefineError) -> DefineError {
    match error {
        DefineError::Mesh(MeshDescError::Shape {
            field,
            mesh,
            have,
            need,
            ..
        }) => DefineError::OtherSize {
            mesh,
            field,
            have,
            need,
        },
        other => other,
    }
}

/// Returns `table` with these lengths and meshes.
fn with_sizes(mut table: FieldTable, sizes: &Sizes) -> FieldTable {
    for (field, len) in &sizes.lens {
        table.fields[*field].set_length(*len);
    }
    for (number, mesh) in &sizes.meshes {
        table.meshes[*number] = mesh.clone();
    }
    table
}
