//! Writes one full checkpoint, in either layout.
//!
//! ```text
//! /tcasm                  format, region, version, step, time, free attributes (attr_*);
//!                         base, bytes: where the region lay; xxh3: the checksum of all this
//!                         (except the free attributes), the table, and the names of the fields
//!   table                 the field table as the index holds it (MessagePack)
//!   fields/<name>         every field, ghost layers included, its bytes as they lie in memory;
//!                         their xxh3, and the paths of copies for other programs (copies),
//!                         each of which has an xxh3 of its own
//! ```
//!
//! The rest of the file is for other programs: see [`crate::vtkhdf`] and [`crate::openpmd`]. The
//! bytes of an F-order field of shape (nx, ny, nz) are a C-order array of shape (nz, ny, nx). Both
//! layouts use this shape, so nothing is ever transposed. Values that other programs can use as
//! they lie in memory are stored once, under two names.

use crate::data::Target;
use crate::error::{Fault, WriteError};
use crate::grid::memory_shape;
use crate::temporal::Own;
use crate::unsealed::Unsealed;
use crate::writeback::Writeback;
use crate::{Layout, Options, Snapshot, attributes, data, header, openpmd, vtkhdf};
use hdf5::{Dataset, File, Group};
use std::path::Path;
use tcasm_core::field::FieldDesc;
use xxhash_rust::xxh3::xxh3_64;

/// Writes `snapshot` to `path` and returns the size of the file. The file appears whole or not at
/// all. After an error, an older file at `path` is untouched, and nothing else is left behind.
pub fn write(
    path: impl AsRef<Path>,
    snapshot: &Snapshot<'_>,
    options: &Options,
) -> Result<u64, WriteError> {
    let unsealed = begin(path.as_ref(), snapshot, "", options)?;
    unsealed.seal()?;
    unsealed.commit()
}

/// Writes all of a file except the seal and the name. Neither needs the snapshot.
pub fn begin(
    path: &Path,
    snapshot: &Snapshot<'_>,
    id: &str,
    options: &Options,
) -> Result<Unsealed, WriteError> {
    begin_showing(path, snapshot, id, options, |file| {
        show(file, path, snapshot, options.layout)
    })
}

/// Does the same for a file that holds nothing for other programs.
pub fn begin_own(
    path: &Path,
    snapshot: &Snapshot<'_>,
    options: &Options,
) -> Result<Unsealed, WriteError> {
    begin_showing(path, snapshot, "", options, |_| Ok(Box::new(Own)))
}

/// Writes all of a file except the seal and the name. `show` creates the part for other programs.
fn begin_showing(
    path: &Path,
    snapshot: &Snapshot<'_>,
    id: &str,
    options: &Options,
    show: impl FnOnce(&File) -> Result<Box<dyn Shown>, Fault>,
) -> Result<Unsealed, WriteError> {
    let fields = &snapshot.table.fields;
    let of = header::Of {
        snapshot,
        id,
        base: None,
        fields: fields.iter().map(|field| &*field.name).collect(),
    };
    header::begin(path, &of, options.mode, |file, own, opened| {
        let shown = show(file)?;
        let store = Store {
            fields: own.create_group("fields")?,
            file,
            options,
            writeback: Writeback::of(opened),
        };
        store.all(shown.as_ref(), snapshot)
    })
}

/// Creates the part for other programs, still without fields.
fn show(
    file: &File,
    path: &Path,
    snapshot: &Snapshot<'_>,
    layout: Layout,
) -> Result<Box<dyn Shown>, Fault> {
    Ok(match layout {
        Layout::VtkHdf => Box::new(vtkhdf::Image::create(file, snapshot)?),
        Layout::OpenPmd => Box::new(openpmd::Iteration::create(file, path, snapshot)?),
    })
}

/// The part of a file that other programs read.
pub trait Shown {
    /// Stores `field`. Returns the dataset under `/tcasm/fields` first, then the copies for other
    /// programs.
    fn store(&self, to: &Store<'_>, field: &FieldDesc, bytes: &[u8])
    -> Result<Vec<Dataset>, Fault>;
}

/// The place in a file where fields are stored.
pub struct Store<'a> {
    file: &'a File,
    /// The group `/tcasm/fields`.
    fields: Group,
    options: &'a Options,
    writeback: Writeback,
}

impl Store<'_> {
    /// Stores all fields of `snapshot`. Returns all datasets.
    fn all(&self, shown: &dyn Shown, snapshot: &Snapshot<'_>) -> Result<Vec<Dataset>, Fault> {
        let mut all = Vec::new();
        for field in &snapshot.table.fields {
            let bytes = snapshot.bytes(field)?;
            let stored = shown.store(self, field, bytes)?;
            attributes::describe(&stored[0], field)?;
            attributes::number(&stored[0], "xxh3", xxh3_64(bytes))?;
            let copies: Vec<String> = stored[1..].iter().map(|copy| copy.name()).collect();
            if !copies.is_empty() {
                attributes::texts(&stored[0], "copies", &copies)?;
            }
            all.extend(stored);
        }
        Ok(all)
    }

    /// Returns the description of a dataset to create.
    pub fn target<'t>(&'t self, group: &'t Group, name: &'t str, shape: &'t [usize]) -> Target<'t> {
        Target {
            group,
            name,
            shape,
            options: self.options,
            writeback: &self.writeback,
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
