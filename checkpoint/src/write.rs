//! Writing one full checkpoint, in either layout.
//!
//! ```text
//! /tcasm                      format, region, version, step, time, free attributes (attr_*); base, bytes: where the region lay;
//!                             xxh3: the checksum of all this (but for the free attributes), the table, and the names of the fields
//!   table                     the field table as the index holds it (MessagePack)
//!   fields/<name>             every field, ghost layers included, its bytes as they lie in memory; their xxh3, and where copies
//!                             of its values stand for others (copies), which have an xxh3 of their own
//! ```
//!
//! Beside that stands what other programs read: see [`crate::vtkhdf`] and [`crate::openpmd`]. An F-order field of shape
//! (nx, ny, nz) has, as its bytes lie, the C-order shape (nz, ny, nx), which is what both layouts want too: nothing is ever
//! transposed. What they want as it lies is stored once, under two names.

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

/// Write `snapshot` to `path` and return the size of the file. It appears whole or not at all: when this fails, what
/// was at `path` before is untouched and nothing else is left behind.
pub fn write(
    path: impl AsRef<Path>,
    snapshot: &Snapshot<'_>,
    options: &Options,
) -> Result<u64, WriteError> {
    let unsealed = begin(path.as_ref(), snapshot, "", options)?;
    unsealed.seal()?;
    unsealed.commit()
}

/// Write all of it but the seal and the name, neither of which needs the snapshot any more.
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

/// The same, of a file that shows nothing to other programs.
pub fn begin_own(
    path: &Path,
    snapshot: &Snapshot<'_>,
    options: &Options,
) -> Result<Unsealed, WriteError> {
    begin_showing(path, snapshot, "", options, |_| Ok(Box::new(Own)))
}

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

/// What other programs are to see, still without fields.
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
    /// Store `field`. The dataset under `/tcasm/fields` comes first, then those that others are to see besides.
    fn store(&self, to: &Store<'_>, field: &FieldDesc, bytes: &[u8])
    -> Result<Vec<Dataset>, Fault>;
}

/// Where fields go.
pub struct Store<'a> {
    file: &'a File,
    /// `/tcasm/fields`.
    fields: Group,
    options: &'a Options,
    writeback: Writeback,
}

impl Store<'_> {
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

    /// A dataset to be made, of `shape`.
    pub fn target<'t>(&'t self, group: &'t Group, name: &'t str, shape: &'t [usize]) -> Target<'t> {
        Target {
            group,
            name,
            shape,
            options: self.options,
            writeback: &self.writeback,
        }
    }

    /// Store `field` under `/tcasm` only.
    pub fn own(&self, field: &FieldDesc, bytes: &[u8]) -> Result<Dataset, Fault> {
        self.own_as(&memory_shape(field), field, bytes)
    }

    /// The same under another shape, which may have other axes of extent 1.
    pub fn own_as(
        &self,
        shape: &[usize],
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Dataset, Fault> {
        let target = self.target(&self.fields, &field.name, shape);
        data::write_whole(&target, field, bytes)
    }

    /// Store `field` under `/tcasm`, and its interior at `target`: once when that is all of it.
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

    /// Store `field` under `/tcasm`, and its interior at `target`, whatever that is of it.
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
