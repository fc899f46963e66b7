//! The file of a time series that other programs open: a temporal VTKHDF image whose arrays are
//! virtual datasets.
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
//!   fields/                (version, ...): fields that are not on the grid, and fields with
//!                          ghost layers, whole
//! ```
//!
//! With a single version, the arrays under `/VTKHDF` have no dimension for versions, because
//! readers take `NSteps = 1` for a static image. The file is written again with each version and
//! replaces the one before by a rename. A reader opens either the old file or the new one.

use super::contents::Contents;
use super::mapping::{Mapping, Virtual, interior, whole};
use crate::error::WriteError;
use crate::file::atomic::{self, Pending};
use crate::file::{Fault, Mode, seal};
use crate::write::layouts::grid::Grid;
use crate::write::layouts::vtkhdf;
use crate::write::{attributes, new_file};
use hdf5::{Group, H5Type};
use std::io;
use std::path::Path;
use tcasm_core::field::Centering;

/// Writes the file of the series at `path` and returns its size. The files of rows are in the
/// folder `rows` beside it.
pub fn write(path: &Path, mode: Mode, rows: &str, contents: &Contents) -> Result<u64, WriteError> {
    let encoded = contents.encode()?;
    let (pending, ()) = atomic::begin(path, mode, |pending| {
        let file = new_file::create(pending.file())?;
        let index = Index {
            contents,
            mapping: Mapping::new(&format!("{rows}/"), &contents.versions),
        };
        index.own(&file.create_group("tcasm")?, &encoded)?;
        index.image(&file.create_group("VTKHDF")?)?;
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
struct Index<'a> {
    contents: &'a Contents,
    mapping: Mapping<'a>,
}

impl Index<'_> {
    /// Writes the group `/tcasm`.
    fn own(&self, own: &Group, encoded: &[u8]) -> Result<(), Fault> {
        attributes::number(own, "format", self.contents.format)?;
        attributes::text(own, "kind", "time series")?;
        attributes::text(own, "region", &self.contents.region)?;
        attributes::free(own, &self.contents.table.attrs)?;
        numbers(own, "series", encoded)?;
        numbers(own, "step", &self.of_versions(|stamp| stamp.step))?;
        numbers(own, "version", &self.of_versions(|stamp| stamp.version))?;
        numbers(own, "time", &self.of_versions(|stamp| stamp.time))?;
        let fields = own.create_group("fields")?;
        let grid = Grid::of(&self.contents.table);
        for (at, field) in self.contents.table.fields.iter().enumerate() {
            if field.has_ghosts() || grid.shape_of(field).is_none() {
                self.mapping.create(&fields, &whole(field, at))?;
            }
        }
        Ok(())
    }

    /// Writes the group `/VTKHDF`.
    fn image(&self, image: &Group) -> Result<(), Fault> {
        let grid = Grid::of(&self.contents.table);
        vtkhdf::describe_image(image, &grid)?;
        let points = image.create_group("PointData")?;
        let cells = image.create_group("CellData")?;
        for (at, field) in self.contents.table.fields.iter().enumerate() {
            let group = match field.centering {
                Centering::Cell => &cells,
                _ => &points,
            };
            if let Some(shape) = grid.shape_of(field) {
                let interior = Virtual {
                    field,
                    at,
                    shape,
                    part: interior(field),
                    temporal: self.contents.versions.len() > 1,
                };
                self.mapping.create(group, &interior)?;
            }
        }
        self.steps(image)
    }

    /// Writes the time, step and number of each version, as temporal VTKHDF has them.
    fn steps(&self, image: &Group) -> Result<(), Fault> {
        let count = self.contents.versions.len();
        let global = image.create_group("FieldData")?;
        numbers(&global, "step", &self.of_versions(|stamp| stamp.step))?;
        numbers(&global, "version", &self.of_versions(|stamp| stamp.version))?;
        let steps = image.create_group("Steps")?;
        attributes::number(&steps, "NSteps", count as i64)?;
        numbers(&steps, "Values", &self.contents.times())?;
        let (offsets, sizes) = (
            steps.create_group("FieldDataOffsets")?,
            steps.create_group("FieldDataSizes")?,
        );
        let rows: Vec<i64> = (0..count as i64).collect();
        for name in ["step", "version"] {
            numbers(&offsets, name, &rows)?;
            let one = ndarray::Array2::<i64>::ones((count, 2));
            let size = sizes.new_dataset_builder();
            size.with_data(&one).create(name)?;
        }
        Ok(())
    }

    /// Returns the result of `of` for each version.
    fn of_versions<T>(&self, of: impl Fn(tcasm_core::format::stamp::Stamp) -> T) -> Vec<T> {
        let versions = &self.contents.versions;
        versions.iter().map(|row| of(row.stamp)).collect()
    }
}

/// Writes `values` as the dataset `name`.
fn numbers<T: H5Type>(group: &Group, name: &str, values: &[T]) -> Result<(), Fault> {
    let builder = group.new_dataset_builder();
    builder.with_data(values).create(name)?;
    Ok(())
}
