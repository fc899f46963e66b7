//! How the fields of a full checkpoint are stored, and what a layout for other programs has to do.

use super::attributes;
use super::data::{self, Target};
use crate::file::{Fault, Output};
use crate::format::shape::memory_shape;
use crate::options::Options;
use crate::snapshot::Snapshot;
use hdf5::{Dataset, File, Group};
use tcasm_core::field::FieldDesc;

/// A layout: the part of a file that other programs read.
pub trait FileLayout {
    /// Stores `field`. Returns the dataset under `/tcasm/fields` first, then the copies for other
    /// programs.
    fn store(&self, to: &Store<'_>, field: &FieldDesc, bytes: &[u8])
    -> Result<Vec<Dataset>, Fault>;

    /// Stores what other programs need besides the fields, after all fields. Returns the datasets,
    /// which the seal of the file covers.
    fn finish(&self, _: &Store<'_>, _: &Snapshot<'_>) -> Result<Vec<Dataset>, Fault> {
        Ok(Vec::new())
    }
}

/// The place in a file where fields are stored.
pub struct Store<'a> {
    file: &'a File,
    /// The group `/tcasm/fields`.
    fields: Group,
    options: &'a Options,
    output: &'a Output<'a>,
}

impl<'a> Store<'a> {
    /// Returns the place for the fields of `file`, in its group `fields`.
    pub fn new(
        file: &'a File,
        fields: Group,
        options: &'a Options,
        output: &'a Output<'a>,
    ) -> Self {
        Store {
            file,
            fields,
            options,
            output,
        }
    }

    /// Stores all fields of `snapshot`. Returns all datasets.
    pub fn all(
        &self,
        layout: &dyn FileLayout,
        snapshot: &Snapshot<'_>,
    ) -> Result<Vec<Dataset>, Fault> {
        let mut all = Vec::new();
        for field in &snapshot.table.fields {
            let bytes = snapshot.bytes(field)?;
            let stored = layout.store(self, field, bytes)?;
            attributes::describe(&stored[0], field)?;
            let copies: Vec<String> = stored[1..].iter().map(|copy| copy.name()).collect();
            if !copies.is_empty() {
                attributes::texts(&stored[0], "copies", &copies)?;
            }
            all.extend(stored);
        }
        let made = layout.finish(self, snapshot)?;
        if !made.is_empty() {
            // Flush while they are open. Errors are lost when handles are dropped.
            self.file.flush()?;
        }
        Ok(all)
    }

    /// Creates a group in the file.
    pub fn create_group(&self, path: &str) -> Result<Group, hdf5::Error> {
        self.file.create_group(path)
    }

    /// Returns the description of a dataset to create.
    pub fn target<'t>(&'t self, group: &'t Group, name: &'t str, shape: &'t [usize]) -> Target<'t> {
        Target {
            group,
            name,
            shape,
            options: self.options,
            output: self.output,
        }
    }

    /// Stores `field` under `/tcasm` only.
    pub fn own(&self, field: &FieldDesc, bytes: &[u8]) -> Result<Dataset, Fault> {
        self.own_as(&memory_shape(field), field, bytes)
    }

    /// Does the same with another shape, which may have other axes of extent 1.
    pub fn own_as(
        &self,
        shape: &[usize],
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Dataset, Fault> {
        let target = self.target(&self.fields, &field.name, shape);
        data::write_whole(&target, field, bytes)
    }

    /// Stores `field` under `/tcasm`, and its interior at `target`. If the field has no ghost
    /// layers, the values are stored once under both names.
    pub fn both(
        &self,
        target: &Target<'_>,
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Vec<Dataset>, Fault> {
        if field.has_ghosts() {
            return self.twice(target, field, bytes);
        }
        let whole = data::write_whole(target, field, bytes)?;
        let to = format!("{}/{}", self.fields.name(), field.name);
        self.file.link_hard(&whole.name(), &to)?;
        Ok(vec![whole])
    }

    /// Stores `field` under `/tcasm`, and its interior at `target`, as two datasets.
    pub fn twice(
        &self,
        target: &Target<'_>,
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Vec<Dataset>, Fault> {
        let own = self.own(field, bytes)?;
        Ok(vec![own, data::write_interior(target, field, bytes)?])
    }
}
