//! Reads a checkpoint: a full one, or an increment with all that it builds on.

use super::chain::Chains;
use crate::error::ReadError;
use crate::file::memory;
use crate::format::data::typed;
use crate::format::full::Full;
use crate::format::header::Header;
use crate::format::increment::Increment;
use crate::format::names::Found;
use ndarray::ArrayViewMutD;
use std::path::{Path, PathBuf};
use tcasm_core::field::{self, DType, Element, FieldDesc, FieldTable, Kind};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;

/// An open checkpoint whose structure is undamaged. Each field is checked when it is read.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    full: Full,
    /// The increments on the full checkpoint, oldest first.
    increments: Vec<Increment>,
    passed_over: Vec<(PathBuf, ReadError)>,
    /// True if a simulation may restart from it although values are rounded.
    allows_lossy: bool,
}

impl Checkpoint {
    /// Returns the same checkpoint, from which a simulation may restart even if values are rounded.
    pub fn allow_lossy(self) -> Self {
        Checkpoint {
            allows_lossy: true,
            ..self
        }
    }

    /// Returns true if a simulation may restart from it even if values are rounded.
    pub fn allows_lossy(&self) -> bool {
        self.allows_lossy
    }

    /// Returns the checkpoint if its file or its region is called `name`, or if there is no `name`.
    pub(super) fn if_called(self, name: Option<&str>) -> Result<Self, ReadError> {
        let of_file = Found::at(&self.path).map(|found| found.name);
        match name {
            Some(name) if name != self.region() && of_file.as_deref() != Some(name) => {
                Err(ReadError::NoName {
                    place: self.path.clone(),
                    name: name.to_owned(),
                    have: vec![self.region().to_owned()],
                })
            }
            _ => Ok(self),
        }
    }

    /// Returns the checkpoint if all its values are exact.
    pub(super) fn if_exact(self) -> Result<Self, ReadError> {
        let Some(relative_error) = self.table().relative_error() else {
            return Ok(self);
        };
        let rounded = self.table().rounded();
        Err(ReadError::Lossy {
            fields: rounded.map(|field| field.name.clone()).collect(),
            path: self.path,
            relative_error,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the region that was stored.
    pub fn region(&self) -> &str {
        &self.header().region
    }

    /// Returns the number, the step and the time of the version that was stored.
    pub fn stamp(&self) -> Stamp {
        self.header().stamp
    }

    /// Returns the fields of that version.
    pub fn table(&self) -> &FieldTable {
        &self.header().table
    }

    /// Returns where the region lay in its producer, if the file says so.
    pub fn extent(&self) -> Option<Extent> {
        self.header().extent
    }

    /// Returns the steps of the checkpoints that it is read from, its own last.
    pub fn steps(&self) -> Vec<u64> {
        let first = self.full.header().stamp.step;
        let rest = self.increments.iter().map(|i| i.stamp().step);
        std::iter::once(first).chain(rest).collect()
    }

    /// Returns the newer checkpoints that could not be used, with their errors.
    pub fn passed_over(&self) -> &[(PathBuf, ReadError)] {
        &self.passed_over
    }

    /// Closes the files and returns the same as [`Checkpoint::passed_over`].
    pub fn into_passed_over(self) -> Vec<(PathBuf, ReadError)> {
        self.passed_over
    }

    /// Returns the seal of its file, which no other file has.
    pub fn seal(&self) -> &str {
        &self.header().seal
    }

    /// Returns the identity of the state, which no other state has.
    pub(crate) fn id(&self) -> &str {
        &self.header().id
    }

    /// Reads the field `name` into `buffer` as it lay in memory, ghost layers included. After an
    /// error, the contents of `buffer` are unspecified.
    pub fn read_bytes(&self, name: &str, buffer: &mut [u8]) -> Result<(), ReadError> {
        let field = self.field(name)?;
        if buffer.len() as u64 != field.bytes() {
            return Err(ReadError::WrongSize {
                field: name.to_owned(),
                need: field.bytes(),
                have: buffer.len(),
            });
        }
        // Each file of a chain has its own length of the field.
        let first = self.full.header().table.get(name).unwrap_or(field);
        self.full.read_bytes(first, buffer)?;
        let mut all = self.increments.iter();
        all.try_for_each(|increment| increment.apply(name, buffer))
    }

    /// Reads the field `name` into `array`, ghost layers included. `array` must have the field's
    /// dtype and [`array_shape`](FieldDesc::array_shape). After an error, the contents of `array`
    /// are unspecified.
    pub fn read_array<T: Element>(
        &self,
        name: &str,
        mut array: ArrayViewMutD<'_, T>,
    ) -> Result<(), ReadError> {
        let field = self.field(name)?;
        check_array(field, T::DTYPE, array.shape())?;
        if self.increments.is_empty() {
            return self.full.read_array(field, array);
        }
        memory::check(field.bytes()).map_err(|why| self.too_large(why))?;
        // Increments change bytes in the order of memory. The array may be in another order.
        let mut bytes = vec![0; field.bytes() as usize];
        self.read_bytes(name, &mut bytes)?;
        let values = typed::<T>(&bytes);
        let values = bytemuck::cast_slice(&values);
        match field::view::<T>(field, values) {
            Ok(read) => array.assign(&read),
            Err(error) => unreachable!("{error}, although dtype and shape were checked"),
        }
        Ok(())
    }

    /// Reads and checks all fields of all files, without keeping anything.
    pub fn verify(&self) -> Result<(), ReadError> {
        self.full.verify()?;
        self.increments.iter().try_for_each(Increment::verify)
    }

    /// Reads and checks the copies of fields that its own file holds for other programs. Nothing in
    /// this crate reads them otherwise.
    pub fn verify_copies(&self) -> Result<(), ReadError> {
        match self.increments.is_empty() {
            true => self.full.verify_copies(),
            false => Ok(()),
        }
    }

    /// Returns the checkpoint, for which `passed_over` could not be used.
    pub(super) fn after(self, passed_over: Vec<(PathBuf, ReadError)>) -> Self {
        Checkpoint {
            passed_over,
            ..self
        }
    }

    /// Returns an error if it lacks fields that a restart needs.
    pub(super) fn lacks(&self) -> Option<ReadError> {
        let missing = self.table().missing();
        let fields: Vec<String> = missing.map(|field| field.name.clone()).collect();
        (!fields.is_empty()).then(|| ReadError::Lacks {
            path: self.path.clone(),
            fields,
        })
    }

    /// Returns the error for a checkpoint that does not fit into memory.
    pub(crate) fn too_large(&self, why: memory::TooLarge) -> ReadError {
        ReadError::TooLarge {
            path: self.path.clone(),
            need: why.need,
            have: why.have,
        }
    }

    fn header(&self) -> &Header {
        let last = self.increments.last();
        last.map_or(self.full.header(), Increment::header)
    }

    fn field(&self, name: &str) -> Result<&FieldDesc, ReadError> {
        let table = self.table();
        table.get(name).ok_or_else(|| {
            let (path, field) = (self.path.clone(), name.to_owned());
            match table.is_lost(name) {
                true => ReadError::Lost { path, field },
                false => ReadError::NoField {
                    path,
                    field,
                    have: table.fields.iter().map(|f| f.name.clone()).collect(),
                },
            }
        })
    }
}

/// Checks that an array with this dtype and shape can take `field`.
fn check_array(field: &FieldDesc, asked: DType, shape: &[usize]) -> Result<(), ReadError> {
    let name = field.name.clone();
    if let Kind::Raw { type_name, .. } = &field.kind {
        let type_name = type_name.clone();
        return Err(ReadError::NotAnArray {
            field: name,
            type_name,
        });
    }
    if field.dtype != asked {
        let stored = field.dtype;
        return Err(ReadError::WrongType {
            field: name,
            stored,
            asked,
        });
    }
    if field.array_shape() != shape {
        return Err(ReadError::WrongShape {
            field: name,
            stored: field.array_shape(),
            asked: shape.to_vec(),
        });
    }
    Ok(())
}

/// Opens the checkpoint in one file, and all that it builds on.
pub(super) fn open_file(path: &Path, chains: &mut Chains) -> Result<Checkpoint, ReadError> {
    let (full, increments) = chains.open(path)?;
    Ok(Checkpoint {
        path: path.to_owned(),
        full,
        increments,
        passed_over: Vec::new(),
        allows_lossy: false,
    })
}
