//! The file of a time series that others open: a temporal VTKHDF image whose arrays are virtual.
//!
//! ```text
//! /VTKHDF                     the image: Version, Type, WholeExtent, Origin, Spacing, Direction
//!   Steps/                    NSteps; Values: the time of each version
//!   PointData/ CellData/      (version, z, y, x[, component]): the fields that lie on the grid, without ghost layers
//!   FieldData/                step, version
//! /tcasm                      format, kind, region, free attributes (attr_*)
//!   series                    which versions there are, and which file holds what (MessagePack)
//!   step version time         of each version
//!   fields/                   (version, ...): fields that are not on the grid, and others with their ghost layers
//! ```
//!
//! With one version the arrays have no leading dimension under `/VTKHDF`: readers take `NSteps = 1` for a still image. The file is
//! written anew with each version and takes the place of the one before: who opens it sees one or the other.

use super::contents::Contents;
use super::rows;
use crate::error::{Fault, WriteError};
use crate::grid::{Grid, slowest_first};
use crate::{atomic, attributes, header, seal, vtkhdf};
use hdf5::{Group, H5Type, Hyperslab, Selection, SliceOrIndex};
use std::path::Path;
use tcasm_core::field::{Centering, DType, Element, FieldDesc};
use tcasm_core::with_dtype;

/// Write the file of the series at `path`, whose rows are in the folder called `rows` beside it; returns its size.
pub fn write(path: &Path, rows: &str, contents: &Contents) -> Result<u64, WriteError> {
    let encoded = contents.encode()?;
    let (pending, ()) = atomic::begin(path, |temp| {
        let file = header::create(temp)?;
        let index = Index {
            contents,
            rows: rows.replace('%', "%%"), // which HDF5 takes for a pattern
        };
        index.own(&file.create_group("tcasm")?, &encoded)?;
        index.image(&file.create_group("VTKHDF")?)?;
        file.flush()?;
        Ok(file.close()?)
    })?;
    seal::apply(pending.temp(), Vec::new()).map_err(|e| Fault::from(e).at(path))?;
    pending.commit()
}

struct Index<'a> {
    contents: &'a Contents,
    rows: String,
}

/// A virtual dataset to be made.
struct Virtual<'a> {
    field: &'a FieldDesc,
    /// Its place in the table.
    at: usize,
    /// The shape of one version.
    shape: Vec<usize>,
    /// The part of a file's dataset that makes it.
    part: Selection,
    /// Whether there is a dimension for the versions.
    temporal: bool,
}

impl Index<'_> {
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
                let whole = Virtual {
                    field,
                    at,
                    shape: rows::shape(field),
                    part: Selection::All,
                    temporal: true,
                };
                self.create(&fields, &whole)?;
            }
        }
        Ok(())
    }

    fn image(&self, image: &Group) -> Result<(), Fault> {
        let grid = Grid::of(&self.contents.table);
        vtkhdf::describe_image(image, &grid)?;
        let points = image.create_group("PointData")?;
        let cells = image.create_group("CellData")?;
        for (at, field) in self.contents.table.fields.iter().enumerate() {
            let group = match field.centering {
                Centering::Point => &points,
                Centering::Cell => &cells,
            };
            if let Some(shape) = grid.shape_of(field) {
                let interior = Virtual {
                    field,
                    at,
                    shape,
                    part: interior(field),
                    temporal: self.contents.versions.len() > 1,
                };
                self.create(group, &interior)?;
            }
        }
        self.steps(image)
    }

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

    fn of_versions<T>(&self, of: impl Fn(tcasm_core::stamp::Stamp) -> T) -> Vec<T> {
        let versions = &self.contents.versions;
        versions.iter().map(|row| of(row.stamp)).collect()
    }

    fn create(&self, group: &Group, to: &Virtual<'_>) -> Result<(), Fault> {
        with_dtype!(to.field.dtype, T => { self.create_typed::<T>(group, to) })
    }

    fn create_typed<T: H5Type + Element>(
        &self,
        group: &Group,
        to: &Virtual<'_>,
    ) -> Result<(), Fault> {
        let count = self.contents.versions.len();
        let mut extents = to.shape.clone();
        if to.temporal {
            extents.insert(0, count);
        }
        let mut builder = group.new_dataset_builder().fill_value(absent::<T>());
        let source = format!("/tcasm/fields/{}", to.field.name);
        let from = rows::shape(to.field);
        for (row, version) in self.contents.versions.iter().enumerate() {
            let file = format!("{}/{}", self.rows, rows::file_name(version.files[to.at]));
            let place = if to.temporal {
                row_of(row, &to.shape)
            } else {
                Selection::All
            };
            builder = builder.virtual_map(&file, &source, &from, to.part.clone(), &extents, place);
        }
        let dataset = builder
            .empty::<T>()
            .shape(&extents)
            .create(to.field.name.as_str())?;
        Ok(attributes::describe(&dataset, to.field)?)
    }
}

fn numbers<T: H5Type>(group: &Group, name: &str, values: &[T]) -> Result<(), Fault> {
    let builder = group.new_dataset_builder();
    builder.with_data(values).create(name)?;
    Ok(())
}

/// What stands where a file of rows is missing: no number, where there is something that is none.
fn absent<T: Element>() -> T {
    let mut value = T::zeroed();
    let bytes = bytemuck::bytes_of_mut(&mut value);
    match T::DTYPE {
        DType::F32 => bytes.copy_from_slice(&f32::NAN.to_ne_bytes()),
        DType::F64 => bytes.copy_from_slice(&f64::NAN.to_ne_bytes()),
        _ => {}
    }
    value
}

/// The interior of `field` in what lies in its file.
fn interior(field: &FieldDesc) -> Selection {
    if !field.has_ghosts() {
        return Selection::All;
    }
    let shape = rows::shape(field);
    let ghosts = slowest_first(field, &field.ghosts);
    let cut = |(axis, &n): (usize, &usize)| {
        let [before, after] = ghosts.get(axis).copied().unwrap_or_default();
        SliceOrIndex::from(before..n - after)
    };
    let slices: Vec<SliceOrIndex> = shape.iter().enumerate().map(cut).collect();
    Selection::from(Hyperslab::from(slices))
}

fn row_of(row: usize, shape: &[usize]) -> Selection {
    let all = shape.iter().map(|&n| SliceOrIndex::from(0..n));
    let slices: Vec<SliceOrIndex> = std::iter::once(SliceOrIndex::from(row..row + 1))
        .chain(all)
        .collect();
    Selection::from(Hyperslab::from(slices))
}
