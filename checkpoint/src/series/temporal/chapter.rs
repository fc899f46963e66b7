//! Chapters of a time series: files of virtual datasets that stand for several versions.

use super::arrays;
use super::contents::{Contents, Row};
use super::mapping::{Array, Mapping, Virtual, made_array, whole};
use super::place::{Rows, all};
use crate::error::WriteError;
use crate::file::atomic::{self, Pending};
use crate::file::{Fault, Mode};
use crate::write::layouts::vtkhdf::{Geometry, Plan};
use crate::write::new_file;
use hdf5::Group;
use std::path::Path;
use tcasm_core::field::FieldDesc;

/// Writes a chapter of `versions` of the series to `path`, which is in the folder of the rows.
/// Returns its size.
pub fn write(
    path: &Path,
    mode: Mode,
    contents: &Contents,
    versions: &[Row],
) -> Result<u64, WriteError> {
    let table = arrays::at_capacity(&contents.table);
    let plan = Plan::of_series(&table, contents.moves());
    let (pending, ()) = atomic::begin(path, mode, |pending| {
        let file = new_file::create(pending.file())?;
        let own = file.create_group("tcasm")?;
        let fields = own.create_group("fields")?;
        let mapping = Mapping::new("", versions);
        for (at, field) in table.fields.iter().enumerate() {
            mapping.create(&fields, &in_chapter(&plan, field, at))?;
        }
        write_made(&own, &plan, &mapping)?;
        file.flush()?;
        Ok(file.close()?)
    })?;
    check(&pending, contents).map_err(|error| WriteError::NotWritten {
        path: path.to_owned(),
        why: error.to_string(),
    })?;
    pending.commit()
}

/// Returns the dataset of `field` in a chapter.
fn in_chapter<'a>(plan: &Plan<'_>, field: &'a FieldDesc, at: usize) -> Virtual<'a> {
    match arrays::flat(plan, &field.name) {
        None => whole(field, at),
        Some((shape, slot)) => Virtual {
            name: field.name.clone(),
            array: Array::Field(field, at),
            part: all(&shape),
            stored: shape.clone(),
            shape,
            rows: Rows::Slots(slot),
            in_chapters: Rows::Slots(slot),
        },
    }
}

/// Writes the arrays that were made for the meshes of `plan`, by their numbers.
fn write_made(own: &Group, plan: &Plan<'_>, mapping: &Mapping<'_>) -> Result<(), Fault> {
    let made = arrays::made(plan);
    if made.is_empty() {
        return Ok(());
    }
    let group = own.create_group("made")?;
    for (number, array) in made.iter().enumerate() {
        if let Geometry::Explicit(explicit) = &array.shown.geometry {
            let name = number.to_string();
            let array = made_array(explicit, array.path, number, array.made);
            mapping.create(&group, &Virtual { name, ..array })?;
        }
    }
    Ok(())
}

/// Opens the datasets of a chapter again, because HDF5 loses errors of writes that happen when a
/// file is closed.
fn check(pending: &Pending, contents: &Contents) -> hdf5::Result<()> {
    let file = hdf5::File::with_options()
        .with_fapl(|p| p.file_locking(false))
        .open(pending.here())?;
    let fields = file.group("tcasm/fields")?;
    let mut all = contents.table.fields.iter();
    all.try_for_each(|field| fields.dataset(&field.name).map(drop))
}
