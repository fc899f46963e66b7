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
use super::mapping::{Mapping, whole};
use super::versions::{Index, numbers};
use super::{arrays, meshes};
use crate::error::WriteError;
use crate::file::atomic::{self, Pending};
use crate::file::{Fault, Mode, seal};
use crate::write::layouts::grid::Grid;
use crate::write::layouts::vtkhdf::{self, Plan};
use crate::write::{attributes, new_file};
use hdf5::Group;
use std::io;
use std::path::Path;
use tcasm_core::field::{Centering, FieldDesc};

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
}
