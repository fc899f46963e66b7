//! How checkpoint files are opened: all of them have a seal, and the description in `/tcasm`.

use super::contained::{self, MOST_DESCRIPTION};
use super::description::{Base, Description, FORMAT};
use super::names::Found;
use crate::error::ReadError;
use crate::file::{regular, seal};
use hdf5::types::VarLenUnicode;
use hdf5::{File, Group, H5Type};
use std::path::Path;
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;

/// The description that a file has of itself.
#[derive(Debug)]
pub struct Header {
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

/// Opens a file of the given kind (`full` or `increment`) if its structure is undamaged.
pub fn open(path: &Path, kind: &str) -> Result<(File, Header), ReadError> {
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
    check_kind(own, kind)?;
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

/// Checks that a file has the given kind. Full checkpoints have no attribute for it.
fn check_kind(own: &Group, kind: &str) -> hdf5::Result<()> {
    let found = match own.attr("kind") {
        Ok(_) => text(own, "kind")?,
        Err(_) => "full".to_owned(),
    };
    match found == kind {
        true => Ok(()),
        false => Err(format!("its kind is {found:?}, but its name says {kind:?}").into()),
    }
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
pub fn check(group: &Group, name: &str, found: u64, what: &str) -> hdf5::Result<()> {
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
pub fn number<T: H5Type>(group: &Group, name: &str) -> hdf5::Result<T> {
    group.attr(name)?.read_scalar()
}

/// Reads an attribute that is a text.
pub fn text(group: &Group, name: &str) -> hdf5::Result<String> {
    Ok(number::<VarLenUnicode>(group, name)?.to_string())
}

/// Returns a function that turns an error of HDF5 into one of the file at `path`.
pub fn damaged(path: &Path) -> impl Fn(hdf5::Error) -> ReadError {
    let path = path.to_owned();
    move |error| ReadError::Damaged {
        path: path.clone(),
        why: error.to_string(),
    }
}
