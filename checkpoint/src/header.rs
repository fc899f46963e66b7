//! The common part of all checkpoint files: how they are opened, and the description in `/tcasm`.

use crate::contained::{self, MOST_DESCRIPTION};
use crate::error::{Fault, ReadError, WriteError};
use crate::find::Found;
use crate::increment::Base;
use crate::unsealed::Unsealed;
use crate::{Mode, Snapshot, atomic, attributes, data, regular, seal};
use hdf5::file::LibraryVersion;
use hdf5::types::VarLenUnicode;
use hdf5::{Dataset, File, Group, H5Type};
use std::path::Path;
use tcasm_core::field::FieldTable;
use tcasm_core::place::Extent;
use tcasm_core::stamp::Stamp;
use xxhash_rust::xxh3::Xxh3Default;

/// The newest layout of `/tcasm` that this program writes and reads.
const FORMAT: u64 = 1;

/// What a file says about itself.
#[derive(Debug)]
pub(crate) struct Header {
    /// The name of the region.
    pub region: String,
    /// Number, step and time of the version.
    pub stamp: Stamp,
    /// The fields of the version.
    pub table: FieldTable,
    /// Where the region lay, if the writer knew that.
    pub extent: Option<Extent>,
    /// The identity of the state, which does not depend on the file. Empty in files that do not
    /// belong to a run.
    pub id: String,
    /// The seal of the file.
    pub seal: String,
    /// The state that it builds on, if it is an increment.
    pub base: Option<Base>,
    /// The checksum of this description and of the table.
    pub checksum: u64,
}

/// All that a file holds besides the values of its fields.
struct Description<'a> {
    region: &'a str,
    stamp: Stamp,
    extent: Option<Extent>,
    id: &'a str,
    base: Option<&'a Base>,
    /// The encoded table.
    table: &'a [u8],
    /// The names of the fields whose values the file holds, in any order.
    fields: Vec<&'a str>,
}

impl Description<'_> {
    /// Returns the checksum of the whole description.
    fn checksum(&self) -> u64 {
        let base = self.base.map_or("", |base| &base.id);
        let mut fields = self.fields.clone();
        fields.sort_unstable();
        let mut hasher = Xxh3Default::new();
        for text in [self.region, self.id, base].into_iter().chain(fields) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        let Stamp {
            version,
            step,
            time,
        } = self.stamp;
        let extent = self.extent.map_or([0; 3], |e| [1, e.base, e.bytes]);
        let base = self.base.map_or([0; 2], |base| [1, base.step]);
        let numbers = [version, step, time.to_bits()];
        for number in numbers.into_iter().chain(extent).chain(base) {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(self.table);
        hasher.digest()
    }
}

/// Returns the encoded table, and checks that it can be decoded.
fn table(table: &FieldTable) -> Result<Vec<u8>, WriteError> {
    let bytes = table.encode()?;
    // A table that could not be read must not be written.
    FieldTable::decode(&bytes, u64::MAX, 1)?;
    Ok(bytes)
}

/// The content of a new file.
pub(crate) struct Of<'a, 's> {
    pub snapshot: &'a Snapshot<'s>,
    /// The identity of the state.
    pub id: &'a str,
    /// The state that it builds on, if it is an increment.
    pub base: Option<&'a Base>,
    /// The names of the fields whose values it holds.
    pub fields: Vec<&'a str>,
}

/// Begins a file. `fill` gets the HDF5 file, its group `/tcasm` and the file as the system knows
/// it, and returns the datasets that it has stored. When this returns, all is written except the
/// seal and the name. Neither needs the snapshot.
pub(crate) fn begin(
    path: &Path,
    of: &Of<'_, '_>,
    mode: Mode,
    fill: impl FnOnce(&File, &Group, &std::fs::File) -> Result<Vec<Dataset>, Fault>,
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
    let (pending, ranges) = atomic::begin(path, mode, |pending| {
        let file = create(pending.file())?;
        let own = file.create_group("tcasm")?;
        write(&own, &description)?;
        attributes::free(&own, &of.snapshot.table.attrs)?;
        let stored = fill(&file, &own, pending.file())?;
        // Flush here to get errors. They are lost when handles are dropped.
        file.flush()?;
        let ranges: Result<Vec<_>, _> = stored.iter().map(data::stored_at).collect();
        drop((stored, own));
        file.close()?;
        Ok(ranges?.concat())
    })?;
    Unsealed::new(pending, ranges, description.checksum(), of.base.is_some())
}

/// Makes the empty `file` an HDF5 file.
pub(crate) fn create(file: &std::fs::File) -> Result<File, Fault> {
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
        })
        .create(regular::path_of(file))?;
    Ok(file)
}

/// Writes `/tcasm` without the fields and the free attributes.
fn write(own: &Group, description: &Description<'_>) -> Result<(), Fault> {
    let stamp = description.stamp;
    attributes::number(own, "format", FORMAT)?;
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

/// Opens a file of the given kind (`full` or `increment`) if its structure is undamaged.
pub(crate) fn open(path: &Path, kind: &str) -> Result<(File, Header), ReadError> {
    // Check before HDF5 opens the file, because damaged structures can crash it.
    let (checked, seal) = seal::check(path)?;
    // Checkpoints never change, so they need no lock, and some file systems have none.
    let file = File::with_options()
        .with_fapl(|p| p.file_locking(false))
        // This path leads to the same file that was checked.
        .open(regular::path_of(&checked))
        .map_err(damaged(path))?;
    contained::check(&file).map_err(damaged(path))?;
    let own = file.group("tcasm").map_err(damaged(path))?;
    let found: u64 = number(&own, "format").map_err(damaged(path))?;
    if found > FORMAT {
        return Err(ReadError::TooNew {
            path: path.to_owned(),
            found,
            known: FORMAT,
        });
    }
    let header = read(&own, kind, seal).map_err(damaged(path))?;
    check_name(path, &header)?;
    Ok((file, header))
}

/// Checks that the file holds the step in its name. Searches for a step use the names only.
fn check_name(path: &Path, header: &Header) -> Result<(), ReadError> {
    let found = header.stamp.step;
    match Found::at(path).filter(|named| named.step != found) {
        None => Ok(()),
        Some(named) => Err(ReadError::OtherStep {
            path: path.to_owned(),
            named: named.step,
            found,
        }),
    }
}

/// Reads the description of a file of the given kind and checks its checksum.
fn read(own: &Group, kind: &str, seal: String) -> hdf5::Result<Header> {
    // Full checkpoints have no attribute for their kind.
    let found = match own.attr("kind") {
        Ok(_) => text(own, "kind")?,
        Err(_) => "full".to_owned(),
    };
    if found != kind {
        return Err(format!("its kind is {found:?}, but its name says {kind:?}").into());
    }
    let stamp = Stamp {
        version: number(own, "version")?,
        step: number(own, "step")?,
        time: number(own, "time")?,
    };
    let table: Vec<u8> = contained::read_small(&own.dataset("table")?, MOST_DESCRIPTION)?;
    let (region, extent) = (text(own, "region")?, extent(own)?);
    let id = text(own, "id").unwrap_or_default();
    let base = (kind == "increment").then(|| base(own)).transpose()?;
    let fields = own.group("fields")?.member_names()?;
    let description = Description {
        region: &region,
        stamp,
        extent,
        id: &id,
        base: base.as_ref(),
        table: &table,
        fields: fields.iter().map(String::as_str).collect(),
    };
    let checksum = description.checksum();
    check(own, "xxh3", checksum, "description")?;
    Ok(Header {
        table: FieldTable::decode(&table, u64::MAX, 1).map_err(|e| e.to_string())?,
        region,
        stamp,
        extent,
        id,
        seal,
        base,
        checksum,
    })
}

/// Reads the state that an increment builds on.
fn base(own: &Group) -> hdf5::Result<Base> {
    Ok(Base {
        step: number(own, "base_step")?,
        id: text(own, "base_id")?,
    })
}

/// Checks that the attribute `name` holds the checksum `found`. Error messages call the data
/// `what`. Files of older versions have no checksum.
pub(crate) fn check(group: &Group, name: &str, found: u64, what: &str) -> hdf5::Result<()> {
    match group.attr(name) {
        Ok(there) if there.read_scalar::<u64>()? != found => {
            Err(format!("the checksum of its {what} differs").into())
        }
        _ => Ok(()),
    }
}

/// Reads where the region lay, if the file says so.
fn extent(own: &Group) -> hdf5::Result<Option<Extent>> {
    if own.attr("base").is_err() {
        return Ok(None);
    }
    Ok(Some(Extent {
        base: number(own, "base")?,
        bytes: number(own, "bytes")?,
    }))
}

/// Reads an attribute that is a number.
pub(crate) fn number<T: H5Type>(group: &Group, name: &str) -> hdf5::Result<T> {
    group.attr(name)?.read_scalar()
}

/// Reads an attribute that is a text.
pub(crate) fn text(group: &Group, name: &str) -> hdf5::Result<String> {
    Ok(number::<VarLenUnicode>(group, name)?.to_string())
}

/// Returns a function that turns an error of HDF5 into one of the file at `path`.
pub(crate) fn damaged(path: &Path) -> impl Fn(hdf5::Error) -> ReadError {
    let path = path.to_owned();
    move |error| ReadError::Damaged {
        path: path.clone(),
        why: error.to_string(),
    }
}
