//! Full checkpoints: HDF5 files with all fields.
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
//! If a field of the table has a bound of its relative error, its values are rounded. `format` is
//! then 2, also if the length of a field can change or a field is a table of its mesh. Otherwise it
//! is 1.
//!
//! The rest of the file is for other programs: see [`crate::write::layouts`]. The bytes of an
//! F-order field of shape (nx, ny, nz) are a C-order array of shape (nz, ny, nx). All layouts use
//! this shape, so nothing is ever transposed. Values that other programs can use as they lie in
//! memory are stored once, under two names. If those programs expect one axis in place of the
//! slowest ones, as VTK does for unstructured meshes, the dataset has that shape under both names.

use super::header::{self, Header};
use super::{data, shape};
use crate::error::ReadError;
use hdf5::File;
use hdf5::types::VarLenUnicode;
use ndarray::{ArrayViewMutD, IxDyn};
use std::path::{Path, PathBuf};
use tcasm_core::field::{Element, FieldDesc};

/// An open file with all fields, whose structure is undamaged. Each field is checked when it is
/// read.
#[derive(Debug)]
pub struct Full {
    path: PathBuf,
    file: File,
    header: Header,
}

impl Full {
    /// Opens the file at `path`.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let (file, header) = header::open(path, "full")?;
        let path = path.to_owned();
        Ok(Full { path, file, header })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn into_header(self) -> Header {
        self.header
    }

    /// Reads `field` into `buffer` as it lay in memory, ghost layers included. Reads as many bytes
    /// as `buffer` has room for, and leaves the rest of a longer `buffer` as it is. After an error,
    /// the contents of `buffer` are unspecified.
    pub fn read_bytes(&self, field: &FieldDesc, buffer: &mut [u8]) -> Result<(), ReadError> {
        let mut at = 0;
        self.read_checked(field, |_, bytes| {
            let end = buffer.len().min(at + bytes.len());
            buffer[at..end].copy_from_slice(&bytes[..end - at]);
            at = end;
        })
    }

    /// Reads `field` into `array`, ghost layers included. `array` must have the field's dtype and
    /// [`array_shape`](FieldDesc::array_shape). After an error, the contents of `array` are
    /// unspecified.
    pub fn read_array<T: Element>(
        &self,
        field: &FieldDesc,
        array: ArrayViewMutD<'_, T>,
    ) -> Result<(), ReadError> {
        let slowest_first: Vec<usize> = (0..field.shape.len()).collect();
        let mut axes = shape::slowest_first(field, &slowest_first);
        axes.extend(axes.len()..array.ndim());
        let mut target = array.permuted_axes(IxDyn(&axes));
        // The stored values have this order too, whatever the shape of the dataset is.
        let mut places = target.iter_mut();
        self.read_checked(field, |_, bytes| {
            let values: Vec<T> = bytemuck::allocation::pod_collect_to_vec(bytes);
            // `values` comes first: when it ends, no place has been taken for nothing.
            let pairs = values.into_iter().zip(places.by_ref());
            pairs.for_each(|(from, to)| *to = from);
        })
    }

    /// Reads and checks all fields, without keeping anything.
    pub fn verify(&self) -> Result<(), ReadError> {
        let check = |field| self.read_checked(field, |_, _| ());
        self.header.table.fields.iter().try_for_each(check)
    }

    /// Checks that there is a dataset with a checksum for each field, without reading the fields.
    pub fn check_outline(&self) -> Result<(), ReadError> {
        let has_checksum = |field: &FieldDesc| {
            let dataset = self.dataset(field)?;
            let checksum = dataset.attr("xxh3").and_then(|a| a.read_scalar::<u64>());
            let damaged = |e: hdf5::Error| self.damaged(field, e.to_string());
            checksum.map(|_| ()).map_err(damaged)
        };
        self.header.table.fields.iter().try_for_each(has_checksum)
    }

    /// Reads and checks the copies of fields that are stored for other programs.
    pub fn verify_copies(&self) -> Result<(), ReadError> {
        for field in &self.header.table.fields {
            for copy in self.copies(field)? {
                let checked = self.check_copy(&copy, field);
                checked.map_err(|why| ReadError::DamagedField {
                    path: self.path.clone(),
                    field: copy,
                    why: why.to_string(),
                })?;
            }
        }
        Ok(())
    }

    /// Returns the paths of the copies of `field` in the file.
    fn copies(&self, field: &FieldDesc) -> Result<Vec<String>, ReadError> {
        let dataset = self.dataset(field)?;
        let Ok(copies) = dataset.attr("copies") else {
            return Ok(Vec::new());
        };
        // A field is copied whole, or once for each component.
        let most = field.components.max(1);
        if copies.size() > most {
            let why = format!("{} copies are listed, the limit is {most}", copies.size());
            return Err(self.damaged(field, why));
        }
        let names: hdf5::Result<Vec<VarLenUnicode>> = copies.read_raw();
        let names = names.map_err(|e| self.damaged(field, e.to_string()))?;
        Ok(names.iter().map(ToString::to_string).collect())
    }

    /// Checks the copy of `field` at the path `copy` in the file.
    fn check_copy(&self, copy: &str, field: &FieldDesc) -> hdf5::Result<()> {
        let dataset = self.file.dataset(copy)?;
        let there: u64 = dataset.attr("xxh3")?.read_scalar()?;
        match data::checksum(&dataset, field)? == there {
            true => Ok(()),
            false => Err("its checksum differs".into()),
        }
    }

    /// Opens the dataset of `field`.
    fn dataset(&self, field: &FieldDesc) -> Result<hdf5::Dataset, ReadError> {
        let dataset = self.file.dataset(&format!("tcasm/fields/{}", field.name));
        dataset.map_err(|e| self.damaged(field, e.to_string()))
    }

    /// Reads `field` block by block, calls `take` with each block, and checks the checksum at the
    /// end.
    fn read_checked(
        &self,
        field: &FieldDesc,
        take: impl FnMut(std::ops::Range<usize>, &[u8]),
    ) -> Result<(), ReadError> {
        let dataset = self.dataset(field)?;
        let read = || {
            let there: u64 = dataset.attr("xxh3")?.read_scalar()?;
            Ok(data::read(&dataset, field, take)? == there)
        };
        match read() {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.damaged(field, "its checksum differs".to_owned())),
            Err(e) => Err(self.damaged(field, hdf5::Error::to_string(&e))),
        }
    }

    /// Returns the error for damage in `field`.
    fn damaged(&self, field: &FieldDesc, why: String) -> ReadError {
        ReadError::DamagedField {
            path: self.path.clone(),
            field: field.name.clone(),
            why,
        }
    }
}
