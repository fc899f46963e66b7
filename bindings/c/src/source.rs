//! The origins of versions: memory of a producer, or something else that has fields.

use crate::status::Failure;
use std::any::Any;
use std::ops::Range;
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;
use tcasm_observer::{Version, ViewError};

/// The fields of one version, wherever they are. Fields that it is asked for are in its table.
pub trait Source: Send + Sync + 'static {
    /// Returns the number, the step and the time.
    fn stamp(&self) -> Stamp;
    /// Returns when it was published, in nanoseconds since 1970-01-01 UTC, or 0 if that is not
    /// known.
    fn published(&self) -> u64;
    /// Returns the descriptions of fields and meshes.
    fn table(&self) -> &FieldTable;
    /// Brings a field into memory, or at least the part of an array that `ranges` select.
    fn bring(&self, name: &str, ranges: Option<&[Range<usize>]>) -> Result<Memory, Failure>;
    /// Copies bytes of a field, from byte `offset` on.
    fn copy(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), Failure>;
    /// Returns the version of a live region, if it is one.
    fn live(&self) -> Option<&Version>;
}

/// A field in memory.
pub struct Memory {
    /// The address of its first element, also if only a part is there.
    pub address: usize,
    /// The object that keeps the memory mapped.
    _owner: Box<dyn Any + Send>,
}

impl Source for Version {
    fn stamp(&self) -> Stamp {
        Version::stamp(self)
    }

    fn published(&self) -> u64 {
        Version::published(self)
    }

    fn table(&self) -> &FieldTable {
        Version::table(self)
    }

    fn bring(&self, name: &str, ranges: Option<&[Range<usize>]>) -> Result<Memory, Failure> {
        let field = self.field(name);
        if field.is_some_and(|field| field.lost) {
            let name = name.to_owned();
            return Err(ViewError::Lost { name }.into());
        }
        let view = match ranges {
            Some(ranges) => self.view_part(name, ranges)?,
            None => self.view_of(&[name])?,
        };
        let offset = field.map_or(0, |field| field.offset);
        Ok(Memory::new(view.address() + offset as usize, view))
    }

    fn copy(&self, name: &str, offset: u64, to: &mut [u8]) -> Result<(), Failure> {
        Ok(self.read_bytes(name, offset, to)?)
    }

    fn live(&self) -> Option<&Version> {
        Some(self)
    }
}

impl Memory {
    /// Returns a field whose first element is at `address`, in memory that `owner` keeps.
    pub fn new(address: usize, owner: impl Any + Send) -> Self {
        Memory {
            address,
            _owner: Box::new(owner),
        }
    }
}
