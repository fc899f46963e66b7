//! Writes full checkpoints. Their format is described in [`crate::format::full`].

use super::layouts;
use super::new_file::{self, Of};
use super::store::{FileLayout, Store};
use super::unsealed::Unsealed;
use crate::error::WriteError;
use crate::file::Fault;
use crate::options::{Options, Purpose};
use crate::snapshot::Snapshot;
use hdf5::File;
use std::path::Path;

/// Writes `snapshot` to `path` and returns the size of the file. The file appears whole or not at
/// all. After an error, an older file at `path` is untouched, and nothing else is left behind.
///
/// The file is an export ([`Purpose::Export`]). So this fails if the cells of a mesh cannot be
/// used, in a layout that has meshes with cells.
pub fn write(
    path: impl AsRef<Path>,
    snapshot: &Snapshot<'_>,
    options: &Options,
) -> Result<u64, WriteError> {
    let unsealed = begin(path.as_ref(), snapshot, "", options, Purpose::Export)?;
    unsealed.seal()?;
    unsealed.commit()
}

/// Writes `snapshot` to `path` as [`write()`] does, but replaces no file. Fails if something has
/// this path before the file is written, or when it gets its name.
pub fn write_new(
    path: impl AsRef<Path>,
    snapshot: &Snapshot<'_>,
    options: &Options,
) -> Result<u64, WriteError> {
    let path = path.as_ref();
    if path.symlink_metadata().is_ok() {
        return Err(WriteError::Exists(path.to_owned()));
    }
    let unsealed = begin(path, snapshot, "", options, Purpose::Export)?;
    unsealed.seal()?;
    unsealed.commit_new()
}

/// Writes all of a file except the seal and the name. Neither needs the snapshot.
pub fn begin(
    path: &Path,
    snapshot: &Snapshot<'_>,
    id: &str,
    options: &Options,
    purpose: Purpose,
) -> Result<Unsealed, WriteError> {
    begin_with(path, snapshot, id, options, |file| {
        layouts::create((options.layout, purpose), file, path, snapshot)
    })
}

/// Does the same for a file whose part for other programs `create` makes.
pub fn begin_with<'s>(
    path: &Path,
    snapshot: &Snapshot<'_>,
    id: &str,
    options: &Options,
    create: impl FnOnce(&File) -> Result<Box<dyn FileLayout + 's>, Fault>,
) -> Result<Unsealed, WriteError> {
    let fields = &snapshot.table.fields;
    let of = Of {
        snapshot,
        id,
        base: None,
        fields: fields.iter().map(|field| &*field.name).collect(),
    };
    new_file::begin(path, &of, options, |file, own, output| {
        let layout = create(file)?;
        let fields = own.create_group("fields")?;
        let store = Store::new(file, fields, options, output);
        store.all(layout.as_ref(), snapshot)
    })
}
