//! What all files of ours have in common: how they are opened, and what `/tcasm` says.

use crate::contained::{self, MOST_DESCRIPTION};
use crate::error::{Fault, ReadError, WriteError};
use crate::find::Found;
use crate::{Snapshot, atomic, attributes, data, regular, seal};
use hdf5::file::LibraryVersion;
use hdf5::types::VarLenUnicode;
use hdf5::{Dataset, File, Group, H5Type};
use std::path::Path;
use tcasm_core::field::FieldTable;
use tcasm_core::place::Extent;
use tcasm_core::stamp::Stamp;

/// The newest layout of `/tcasm` that this program writes and reads.
const FORMAT: u64 = 1;

/// What a file says about itself.
#[derive(Debug)]
pub(crate) struct Header {
    /// Name of the region.
    pub region: String,
    /// Number, step and time of the version.
    pub stamp: Stamp,
    /// Its fields.
    pub table: FieldTable,
    /// Where the region lay, where the writer knew that.
    pub extent: Option<Extent>,
    /// Tells the state from any other, whatever file it is in; empty where nobody asks.
    pub id: String,
    /// The seal of the file.
    pub seal: String,
}

/// The encoded table, which can be read again.
fn table(table: &FieldTable) -> Result<Vec<u8>, WriteError> {
    let bytes = table.encode()?;
    FieldTable::decode(&bytes, u64::MAX, 1)?; // what could not be read must not be written
    Ok(bytes)
}

/// Begin a file of `snapshot`, of the state `id`: `fill` is given it, its `/tcasm` and where it is for the time being, and says
/// which datasets it has stored. All of it is written then but the seal and the name, neither of which needs the snapshot any more.
pub(crate) fn begin(
    path: &Path,
    snapshot: &Snapshot<'_>,
    id: &str,
    fill: impl FnOnce(&File, &Group, &Path) -> Result<Vec<Dataset>, Fault>,
) -> Result<(atomic::Pending, Vec<seal::Range>), WriteError> {
    let table = table(snapshot.table)?;
    atomic::begin(path, |temp| {
        let file = create(temp)?;
        let own = file.create_group("tcasm")?;
        write(&own, snapshot, &table, id)?;
        let stored = fill(&file, &own, temp)?;
        // Errors must come out here: they are lost when handles are dropped.
        file.flush()?;
        let ranges: Result<Vec<_>, _> = stored.iter().map(data::stored_at).collect();
        drop((stored, own));
        file.close()?;
        Ok(ranges?.concat())
    })
}

/// Create a file.
pub(crate) fn create(path: &Path) -> Result<File, Fault> {
    let file = File::with_options()
        .with_fapl(|p| {
            // Old readers open it; the newest format would shut out HDF5 1.10.
            p.libver_bounds(LibraryVersion::V18, LibraryVersion::V110)
                // Nobody else knows the file yet. A lock would outlive our closing it in every process
                // started meanwhile (they inherit HDF5's descriptors), and shut out all readers.
                .file_locking(false)
        })
        .create_excl(path)?;
    Ok(file)
}

/// Write `/tcasm`, but for the fields, of the state `id`.
fn write(own: &Group, snapshot: &Snapshot<'_>, table: &[u8], id: &str) -> Result<(), Fault> {
    let stamp = snapshot.stamp;
    attributes::number(own, "format", FORMAT)?;
    attributes::text(own, "region", snapshot.region)?;
    attributes::number(own, "version", stamp.version)?;
    attributes::number(own, "step", stamp.step)?;
    attributes::number(own, "time", stamp.time)?;
    attributes::text(own, "id", id)?;
    if let Some(extent) = snapshot.extent {
        attributes::number(own, "base", extent.base)?;
        attributes::number(own, "bytes", extent.bytes)?;
    }
    attributes::free(own, &snapshot.table.attrs)?;
    own.new_dataset_builder().with_data(table).create("table")?;
    Ok(())
}

/// Open a file of that kind (`full` or `increment`), if its structure is undamaged.
pub(crate) fn open(path: &Path, kind: &str) -> Result<(File, Header), ReadError> {
    let (checked, seal) = seal::check(path)?; // before HDF5 sees it, which damaged structures can crash
    // Checkpoints never change, so there is nothing to lock; some file systems have no locks.
    let file = File::with_options()
        .with_fapl(|p| p.file_locking(false))
        // The very file that was checked.
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

/// Searches for a step go by the names of files.
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

fn read(own: &Group, kind: &str, seal: String) -> hdf5::Result<Header> {
    // Full ones do not say so.
    let found = match own.attr("kind") {
        Ok(_) => text(own, "kind")?,
        Err(_) => "full".to_owned(),
    };
    if found != kind {
        return Err(format!("it is of kind {found:?}, which its name does not say").into());
    }
    let stamp = Stamp {
        version: number(own, "version")?,
        step: number(own, "step")?,
        time: number(own, "time")?,
    };
    let table: Vec<u8> = contained::read_small(&own.dataset("table")?, MOST_DESCRIPTION)?;
    Ok(Header {
        region: text(own, "region")?,
        stamp,
        table: FieldTable::decode(&table, u64::MAX, 1).map_err(|e| e.to_string())?,
        extent: extent(own)?,
        id: text(own, "id").unwrap_or_default(),
        seal,
    })
}

fn extent(own: &Group) -> hdf5::Result<Option<Extent>> {
    if own.attr("base").is_err() {
        return Ok(None);
    }
    Ok(Some(Extent {
        base: number(own, "base")?,
        bytes: number(own, "bytes")?,
    }))
}

/// An attribute that is a number.
pub(crate) fn number<T: H5Type>(group: &Group, name: &str) -> hdf5::Result<T> {
    group.attr(name)?.read_scalar()
}

/// An attribute that is a text.
pub(crate) fn text(group: &Group, name: &str) -> hdf5::Result<String> {
    Ok(number::<VarLenUnicode>(group, name)?.to_string())
}

/// HDF5's error as that of a file.
pub(crate) fn damaged(path: &Path) -> impl Fn(hdf5::Error) -> ReadError {
    let path = path.to_owned();
    move |error| ReadError::Damaged {
        path: path.clone(),
        why: error.to_string(),
    }
}
