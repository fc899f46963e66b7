//! The file of a time series that other programs open: a temporal VTKHDF file whose arrays are
//! virtual datasets. Without named meshes it is an image; [`super::meshes`] has the others.
//!
//! ```text
//! /VTKHDF                  the image: Version, Type, WholeExtent, Origin, Spacing, Direction
//!   Steps/                 NSteps; Values: the time of each version
//!   PointData/ CellData/   (version, z, y, x[, component]): the fields that lie on the grid,
//!                          without ghost layers
//!   FieldData/             step, version
//! /tcasm                   format, kind, region, free attributes (attr_*)
//!   series                 the versions, and the file that holds each field (MessagePack)
//!   step version time      of each version
//!   fields/                (version, ...): fields that are not shown, and fields with ghost
//!                          layers, whole; with room for the largest length, if it varies
//!   lengths/               (version): the lengths of fields whose length varies
//! ```
//!
//! With a single version, the arrays under `/VTKHDF` have no dimension for versions, because
//! readers take `NSteps = 1` for a static image. The file is written again with each version and
//! replaces the one before by a rename. A reader opens either the old file or the new one.

use super::contents::Contents;
use super::mapping::{Array, Mapping, Virtual, interior, whole};
use super::place::Rows;
use super::{arrays, meshes, rows};
use crate::error::WriteError;
use crate::file::atomic::{self, Pending};
use crate::file::{Fault, Mode, seal};
use crate::write::layouts::grid::Grid;
use crate::write::layouts::vtkhdf::{self, Plan};
use crate::write::{attributes, new_file};
use hdf5::{Group, H5Type};
use std::io;
use std::path::Path;
use tcasm_core::field::{Centering, FieldDesc, FieldTable};

/// Writes the file of the series at `path` and returns its size. The files of rows are in the
/// folder `rows` beside it.
pub fn write(path: &Path, mode: Mode, rows: &str, contents: &Contents) -> Result<u64, WriteError> {
    let encoded = contents.encode()?;
    let table = arrays::at_capacity(&contents.table);
    let (pending, ()) = atomic::begin(path, mode, |pending| {
        let file = new_file::create(pending.file())?;
        let index = Index {
            contents,
            table: &table,
            mapping: Mapping::new(&format!("{rows}/"), &contents.versions),
        };
        let own = file.create_group("tcasm")?;
        if table.meshes.is_empty() {
            let grid = Grid::of(&table);
            index.own(&own, &encoded, |field| grid.shape_of(field).is_some())?;
            index.image(&file.create_group("VTKHDF")?, &grid)?;
        } else {
            let plan = Plan::of_series(&table, contents.moves());
            index.own(&own, &encoded, |field| meshes::shows(&plan, field))?;
            meshes::write(&index, &file, &plan)?;
        }
        file.flush()?;
        Ok(file.close()?)
    })?;
    let fault = |e: io::Error| Fault::from(e).at(path);
    let length = pending.file().metadata().map_err(fault)?.len();
    seal::apply(pending.file(), length, Vec::new()).map_err(fault)?;
    check(&pending, &encoded)?;
    pending.commit()
}

/// Reads the file back and compares it, because HDF5 may have lost an error.
fn check(pending: &Pending, encoded: &[u8]) -> Result<(), WriteError> {
    let why = match Contents::read(&pending.here()).map(|read| read.encode()) {
        Ok(Ok(read)) if read == encoded => return Ok(()),
        Ok(_) => "it holds other versions".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(WriteError::NotWritten {
        path: pending.path().to_owned(),
        why,
    })
}

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
    /// Writes the group `/tcasm`. `is_shown` returns true for fields that are in `/VTKHDF`.
    fn own(
        &self,
        own: &Group,
        encoded: &[u8],
        is_shown: impl Fn(&FieldDesc) -> bool,
    ) -> Result<(), Fault> {
        attributes::number(own, "format", self.contents.format)?;
        attributes::text(own, "kind", "time series")?;
        attributes::text(own, "region", &self.contents.region)?;
        attributes::free(own, &self.contents.table.attrs)?;
        numbers(own, "series", encoded)?;
        numbers(own, "step", &self.of_versions(|stamp| stamp.step))?;
        numbers(own, "version", &self.of_versions(|stamp| stamp.version))?;
        numbers(own, "time", &self.of_versions(|stamp| stamp.time))?;
        let fields = own.create_group("fields")?;
        for (at, field) in self.table.fields.iter().enumerate() {
            if field.has_ghosts() || !is_shown(field) {
                self.mapping.create(&fields, &whole(field, at))?;
            }
        }
        self.lengths(own)
    }

    /// Writes the lengths of the fields whose length varies.
    fn lengths(&self, own: &Group) -> Result<(), Fault> {
        let fields = self.table.fields.iter().enumerate();
        let mut variable = fields.filter(|(_, f)| f.capacity.is_some()).peekable();
        if variable.peek().is_none() {
            return Ok(());
        }
        let group = own.create_group("lengths")?;
        for (at, field) in variable {
            let versions = self.contents.versions.iter();
            let lens = versions.map(|row| row.lens.get(at).copied().unwrap_or_default());
            numbers(&group, &field.name, &lens.collect::<Vec<u64>>())?;
        }
        Ok(())
    }

    /// Writes the group `/VTKHDF` with the image of `grid`.
    fn image(&self, image: &Group, grid: &Grid) -> Result<(), Fault> {
        vtkhdf::describe_image(image, grid)?;
        let points = image.create_group("PointData")?;
        let cells = image.create_group("CellData")?;
        for (at, field) in self.table.fields.iter().enumerate() {
            let group = match field.centering {
                Centering::Cell => &cells,
                _ => &points,
            };
            if let Some(shape) = grid.shape_of(field) {
                self.mapping
                    .create(group, &self.on_grid(field, at, shape))?;
            }
        }
        self.steps(image).map(drop)
    }

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
    fn of_versions<T>(&self, of: impl Fn(tcasm_core::format::stamp::Stamp) -> T) -> Vec<T> {
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
