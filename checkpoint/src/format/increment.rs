//! Increments: HDF5 files with the changes since another checkpoint.
//!
//! ```text
//! /tcasm                  format, kind ("increment"), region, version, step, time, free attributes
//!                         (attr_*); base_step, base_id: the state that it builds on, in whatever
//!                         file that is; xxh3: as in full checkpoints
//!   table                 the field table as the index holds it (MessagePack)
//!   fields/<name>         a group for each field with changes; its xxh3 is that of all values in
//!                         the order of the file, its xxh3_runs that of first and count
//!     first, count        u64: where each run of values begins in the field, as it lies in
//!                         memory, and how many values it has
//!     values              the values of all runs, one after the other, of the field's dtype
//! ```
//!
//! The table has the lengths of this version. If a field is longer than in the base, the runs hold
//! all values beyond the length that it has there. So each file of a chain is complete within its
//! own lengths, whatever the lengths before and after it are.

use super::contained;
use super::description::Base;
use super::header::{self, Header};
use crate::error::ReadError;
use hdf5::{File, Group};
use std::path::{Path, PathBuf};
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::with_dtype;
use xxhash_rust::xxh3::Xxh3Default;

/// The largest number of bytes that is read at once.
const BLOCK: usize = 1 << 20;

/// An open increment whose structure is undamaged. Its values are checked when they are read.
#[derive(Debug)]
pub struct Increment {
    path: PathBuf,
    file: File,
    header: Header,
    base: Base,
}

impl Increment {
    /// Opens the increment at `path`.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let (file, header) = header::open(path, "increment")?;
        let base = header.base.clone().ok_or_else(|| ReadError::Damaged {
            path: path.to_owned(),
            why: "it does not say what it builds on".to_owned(),
        })?;
        Ok(Increment {
            path: path.to_owned(),
            file,
            header,
            base,
        })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn into_header(self) -> Header {
        self.header
    }

    /// Returns the state that it builds on.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// Returns the stamp of the version.
    pub fn stamp(&self) -> Stamp {
        self.header.stamp
    }

    /// Changes `bytes`, the first bytes of the field `name` in the base, into those of this
    /// checkpoint. Its field may be longer or shorter than `bytes`: changes beyond their end are
    /// left out, and bytes beyond the end of the field stay as they are.
    pub fn apply(&self, name: &str, bytes: &mut [u8]) -> Result<(), ReadError> {
        // All tables of a chain have the same fields.
        let Some(field) = self.header.table.get(name) else {
            return Ok(());
        };
        self.read(field, |at, values| {
            // Places are checked, so only those beyond the end of `bytes` do not fit.
            let at = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
            let target = &mut bytes[at..];
            let count = target.len().min(values.len());
            target[..count].copy_from_slice(&values[..count]);
        })
    }

    /// Reads and checks the changes of all fields.
    pub fn verify(&self) -> Result<(), ReadError> {
        let read = |field| self.read(field, |_, _| ());
        self.header.table.fields.iter().try_for_each(read)
    }

    /// Checks where the runs of each field lie, without reading the values.
    pub fn check_runs(&self) -> Result<(), ReadError> {
        let check = || -> hdf5::Result<()> {
            let fields = self.file.group("tcasm/fields")?;
            let all = self.header.table.fields.iter();
            for field in all.filter(|field| fields.link_exists(&field.name)) {
                let group = fields.group(&field.name)?;
                runs(&group, field)?;
                header::number::<u64>(&group, "xxh3")?;
            }
            Ok(())
        };
        check().map_err(header::damaged(&self.path))
    }

    /// Calls `take` with the changed bytes of `field` and their offset, which lie in the field.
    fn read(&self, field: &FieldDesc, take: impl FnMut(u64, &[u8])) -> Result<(), ReadError> {
        let damaged = |why: String| ReadError::DamagedField {
            path: self.path.clone(),
            field: field.name.clone(),
            why,
        };
        match self.read_values(field, take) {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(damaged(why.to_owned())),
            Err(error) => Err(damaged(hdf5::Error::to_string(&error))),
        }
    }

    /// Does the work of [`Increment::read`]. Returns what is wrong with the values, if something
    /// is.
    fn read_values(
        &self,
        field: &FieldDesc,
        mut take: impl FnMut(u64, &[u8]),
    ) -> hdf5::Result<Option<&'static str>> {
        let fields = self.file.group("tcasm/fields")?;
        if !fields.link_exists(&field.name) {
            return Ok(None);
        }
        let group = fields.group(&field.name)?;
        let [first, count] = runs(&group, field)?;
        let there: u64 = header::number(&group, "xxh3")?;
        let dataset = group.dataset("values")?;
        let size = field.dtype.size() as u64;
        let is_inside = |place: u64, bytes: &[u8]| {
            let end = place.checked_add(bytes.len() as u64);
            end.is_some_and(|end| end <= field.bytes())
        };
        let mut hasher = Xxh3Default::new();
        with_dtype!(field.dtype, T => {
            let mut at = 0;
            for (first, count) in first.into_iter().zip(count) {
                for (start, n) in pieces(count, BLOCK as u64 / size) {
                    let values = dataset.read_slice_1d::<T, _>(at..at + n as usize)?;
                    let values = values.to_vec();
                    let bytes: &[u8] = bytemuck::cast_slice(&values);
                    hasher.update(bytes);
                    let place = first.checked_add(start).and_then(|n| n.checked_mul(size));
                    match place.filter(|place| is_inside(*place, bytes)) {
                        Some(place) => take(place, bytes),
                        None => return Ok(Some("it changes values outside the field")),
                    }
                    at += n as usize;
                }
            }
        });
        Ok((hasher.digest() != there).then_some("its checksum differs"))
    }
}

/// Returns the checksum of where runs begin and how long they are.
pub fn checksum_of_runs(first: &[u64], count: &[u64]) -> u64 {
    let mut hasher = Xxh3Default::new();
    hasher.update(bytemuck::cast_slice(first));
    hasher.update(bytemuck::cast_slice(count));
    hasher.digest()
}

/// Reads and checks where the runs of `field` begin and how many values they have.
fn runs(group: &Group, field: &FieldDesc) -> hdf5::Result<[Vec<u64>; 2]> {
    // There cannot be more runs than values.
    let most = field.bytes() / field.dtype.size() as u64;
    let column = |name: &str| contained::read_small::<u64>(&group.dataset(name)?, most);
    let (first, count) = (column("first")?, column("count")?);
    let checksum = checksum_of_runs(&first, &count);
    header::check(group, "xxh3_runs", checksum, "runs")?;
    Ok([first, count])
}

/// Splits `count` values into pieces of at most `most`. Returns the first value of each piece and
/// its number of values.
fn pieces(count: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..count)
        .step_by(most as usize)
        .map(move |start| (start, most.min(count - start)))
}

/// Returns true if the values of each field have the same places in both tables, and the same bound
/// of their error, so that one version can build on the other. The lengths of fields that have a
/// capacity may differ, because the axis that changes varies slowest.
pub fn alike(new: &FieldTable, old: &FieldTable) -> bool {
    let same = |(a, b): (&FieldDesc, &FieldDesc)| {
        let dims = |f: &FieldDesc| (f.capacity_shape(), f.components, f.order, f.dtype);
        // Exact values do not build on rounded ones.
        let rounded = a.relative_error == b.relative_error;
        a.name == b.name && a.kind == b.kind && dims(a) == dims(b) && rounded
    };
    new.fields.len() == old.fields.len() && new.fields.iter().zip(&old.fields).all(same)
}
