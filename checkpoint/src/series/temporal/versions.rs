//! The versions in the file of a series: their times, and where each has its values.

use super::contents::Contents;
use super::mapping::{Array, Mapping, Virtual, interior};
use super::place::Rows;
use super::rows;
use crate::file::Fault;
use crate::write::attributes;
use hdf5::{Group, H5Type};
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;

/// The content of the file of a series.
pub struct Index<'a> {
    /// The versions.
    pub contents: &'a Contents,
    /// The fields and meshes, with their largest lengths.
    pub table: &'a FieldTable,
    /// The sources of the rows.
    pub mapping: Mapping<'a>,
}

impl Index<'_> {
    /// Returns the interior of `field`, which has the shape `shape` on a grid, in each version.
    pub fn on_grid<'f>(&self, field: &'f FieldDesc, at: usize, shape: Vec<usize>) -> Virtual<'f> {
        Virtual {
            name: field.name.clone(),
            array: Array::Field(field, at),
            stored: rows::shape(field),
            part: interior(field),
            shape,
            rows: match self.contents.versions.len() {
                1 => Rows::Single,
                _ => Rows::Stacked,
            },
            in_chapters: Rows::Stacked,
        }
    }

    /// Writes the time, step and number of each version, as temporal VTKHDF has them. Returns the
    /// group `Steps`.
    pub fn steps(&self, data_set: &Group) -> Result<Group, Fault> {
        let count = self.contents.versions.len();
        let global = data_set.create_group("FieldData")?;
        numbers(&global, "step", &self.of_versions(|stamp| stamp.step))?;
        numbers(&global, "version", &self.of_versions(|stamp| stamp.version))?;
        let steps = data_set.create_group("Steps")?;
        attributes::number(&steps, "NSteps", count as i64)?;
        numbers(&steps, "Values", &self.contents.times())?;
        steps.create_group("FieldDataOffsets")?;
        steps.create_group("FieldDataSizes")?;
        for name in ["step", "version"] {
            self.global(&steps, name, 1, |row| row)?;
        }
        Ok(steps)
    }

    /// Writes where each version has its values in the array `name` of `FieldData`: `tuples` values
    /// from `offset` of its number on.
    pub fn global(
        &self,
        steps: &Group,
        name: &str,
        tuples: i64,
        offset: impl Fn(i64) -> i64,
    ) -> Result<(), Fault> {
        let count = self.contents.versions.len();
        let offsets: Vec<i64> = (0..count as i64).map(offset).collect();
        numbers(&steps.group("FieldDataOffsets")?, name, &offsets)?;
        let mut size = ndarray::Array2::<i64>::ones((count, 2));
        size.column_mut(1).fill(tuples);
        let sizes = steps.group("FieldDataSizes")?.new_dataset_builder();
        sizes.with_data(&size).create(name)?;
        Ok(())
    }

    /// Returns the result of `of` for each version.
    pub fn of_versions<T>(&self, of: impl Fn(Stamp) -> T) -> Vec<T> {
        let versions = &self.contents.versions;
        versions.iter().map(|row| of(row.stamp)).collect()
    }
}

/// Writes `values` as the dataset `name`.
pub fn numbers<T: H5Type>(group: &Group, name: &str, values: &[T]) -> Result<(), Fault> {
    let builder = group.new_dataset_builder();
    builder.with_data(values).create(name)?;
    Ok(())
}
