//! New checkpoint files: how they are begun and described.

use super::unsealed::Unsealed;
use super::{attributes, data};
use crate::error::WriteError;
use crate::file::{ALIGN, Fault, LEAST, Output, atomic, regular};
use crate::format::description::{Base, Description, format_of};
use crate::options::Options;
use crate::snapshot::Snapshot;
use hdf5::file::LibraryVersion;
use hdf5::{Dataset, File, Group};
use std::path::Path;
use tcasm_core::field::FieldTable;

/// Returns the encoded table, and checks that it can be decoded.
fn table(table: &FieldTable) -> Result<Vec<u8>, WriteError> {
    let bytes = table.encode()?;
    // A table that could not be read must not be written.
    FieldTable::decode(&bytes, u64::MAX, 1)?;
    Ok(bytes)
}

/// The content of a new file.
pub struct Of<'a, 's> {
    /// The version.
    pub snapshot: &'a Snapshot<'s>,
    /// The identity of the state.
    pub id: &'a str,
    /// The state that it builds on, if it is an increment.
    pub base: Option<&'a Base>,
    /// The names of the fields whose values it holds.
    pub fields: Vec<&'a str>,
}

/// Begins a file. `fill` gets the HDF5 file, its group `/tcasm` and the output for the values of
/// fields, and returns the datasets that it has stored. When this returns, all is written except
/// the seal and the name. Neither needs the snapshot.
pub fn begin(
    path: &Path,
    of: &Of<'_, '_>,
    options: &Options,
    fill: impl FnOnce(&File, &Group, &Output<'_>) -> Result<Vec<Dataset>, Fault>,
) -> Result<Unsealed, WriteError> {
    let table = table(of.snapshot.table)?;
    let description = Description {
        region: of.snapshot.region,
        stamp: of.snapshot.stamp,
        extent: of.snapshot.extent,
        id: of.id,
        base: of.base,
        table: &table,
        fields: of.fields.clone(),
    };
    let (pending, (ranges, direct)) = atomic::begin(path, options.mode, |pending| {
        let file = create(pending.file())?;
        let output = Output::of(pending.file(), options.writes_direct());
        let own = file.create_group("tcasm")?;
        write(&own, &description, format_of(of.snapshot.table))?;
        attributes::free(&own, &of.snapshot.table.attrs)?;
        let stored = fill(&file, &own, &output)?;
        // Flush here to get errors. They are lost when handles are dropped.
        file.flush()?;
        let ranges: Result<Vec<_>, _> = stored.iter().map(data::stored_at).collect();
        drop((stored, own));
        file.close()?;
        Ok((ranges?.concat(), output.past_cache()))
    })?;
    let checksum = description.checksum();
    Unsealed::new(pending, ranges, direct, checksum, of.base.is_some())
}

/// Makes the empty `file` an HDF5 file.
pub fn create(file: &std::fs::File) -> Result<File, Fault> {
    let file = File::with_options()
        .with_fapl(|p| {
            // Old readers can open this format. The newest one would exclude HDF5 1.10.
            p.libver_bounds(LibraryVersion::V18, LibraryVersion::V110)
                // No other process knows the file yet. A lock would stay in every process that is
                // started meanwhile, because it inherits HDF5's descriptors, and would exclude all
                // readers.
                .file_locking(false)
                // Each write goes to the file at once. Otherwise small datasets would be written
                // when their handles are dropped, where HDF5's errors are lost.
                .sieve_buf_size(0)
                // Large datasets can be written past the page cache.
                .alignment(LEAST as u64, ALIGN as u64)
        })
        .create(regular::path_of(file))?;
    Ok(file)
}

/// Writes `/tcasm` without the fields and the free attributes.
fn write(own: &Group, description: &Description<'_>, format: u64) -> Result<(), Fault> {
    let stamp = description.stamp;
    attributes::number(own, "format", format)?;
    attributes::text(own, "region", description.region)?;
    attributes::number(own, "version", stamp.version)?;
    attributes::number(own, "step", stamp.step)?;
    attributes::number(own, "time", stamp.time)?;
    attributes::text(own, "id", description.id)?;
    if let Some(extent) = description.extent {
        attributes::number(own, "base", extent.base)?;
        attributes::number(own, "bytes", extent.bytes)?;
    }
    if let Some(base) = description.base {
        attributes::text(own, "kind", "increment")?;
        attributes::number(own, "base_step", base.step)?;
        attributes::text(own, "base_id", &base.id)?;
    }
    attributes::number(own, "xxh3", description.checksum())?;
    let table = own.new_dataset_builder().with_data(description.table);
    table.create("table")?;
    Ok(())
}
