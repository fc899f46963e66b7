//! Pinned versions, which are immutable while they are held.

use crate::error::{ReadError, ViewError};
use crate::pin::Pin;
use crate::session::Session;
use crate::windows::Windows;
use std::ops::Range;
use std::sync::Arc;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::format::index::IndexError;
use tcasm_core::format::pagemap::Run;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;
use tcasm_core::sys::object::read_at;

/// A version that this observer has pinned. Clones share the pin. Dropping the last clone releases
/// the version.
#[derive(Clone)]
pub struct Version {
    pin: Arc<Pin>,
    windows: Arc<Windows>,
}

impl Version {
    /// Returns the version of `pin`. Its views are shown in `windows`.
    pub(crate) fn new(pin: Pin, windows: Arc<Windows>) -> Self {
        Version {
            pin: Arc::new(pin),
            windows,
        }
    }

    pub(crate) fn pin(&self) -> &Pin {
        &self.pin
    }

    pub(crate) fn windows(&self) -> &Windows {
        &self.windows
    }

    /// Returns the number of the version.
    pub fn number(&self) -> u64 {
        self.pin.stamp.version
    }

    /// Returns the step of the simulation.
    pub fn step(&self) -> u64 {
        self.pin.stamp.step
    }

    /// Returns the simulated time.
    pub fn time(&self) -> f64 {
        self.pin.stamp.time
    }

    /// Returns number, step and time together.
    pub fn stamp(&self) -> Stamp {
        self.pin.stamp
    }

    /// Returns how many pages changed since the version before.
    pub fn changed_pages(&self) -> u64 {
        self.pin.changed
    }

    /// Returns when the version was published, in nanoseconds of the Unix epoch.
    pub fn published(&self) -> u64 {
        self.pin.published
    }

    /// Returns the name of the region.
    pub fn region(&self) -> &str {
        &self.session().info.name
    }

    /// Returns the address and the size of the region in the producer.
    pub fn extent(&self) -> Extent {
        self.session().extent()
    }

    /// Returns the fields and attributes of this version.
    pub fn table(&self) -> &FieldTable {
        &self.pin.table
    }

    /// Returns the description of one field.
    pub fn field(&self, name: &str) -> Option<&FieldDesc> {
        self.pin.table.get(name)
    }

    /// Returns the description of one field, or the error of views.
    pub(crate) fn described(&self, name: &str) -> Result<&FieldDesc, ViewError> {
        self.field(name).ok_or_else(|| ViewError::NoField {
            name: name.to_owned(),
            available: self.table().fields.iter().map(|f| f.name.clone()).collect(),
        })
    }

    /// Returns true if `other` is a version of the same region of the same process. Regions of the
    /// same name before and after a restart are not the same.
    pub fn is_of_same_region(&self, other: &Version) -> bool {
        self.session().info == other.session().info
    }

    pub(crate) fn session(&self) -> &Session {
        &self.pin.session
    }

    /// Returns the bytes of a page of the region.
    pub fn page_size(&self) -> Result<u64, IndexError> {
        Ok(self.session().index()?.layout().page_size as u64)
    }

    /// Returns the runs of pages that make up a range of the region's bytes, and the plane that
    /// holds each. An empty range, as that of a field of length 0, has none.
    pub fn runs(&self, range: Range<u64>) -> Result<Vec<Run>, IndexError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let page = self.session().index()?.layout().page_size as u64;
        self.pin
            .map()?
            .runs((range.start / page) as usize..range.end.div_ceil(page) as usize)
    }

    /// Copies bytes of field `name`, from `offset` in the field, without mapping anything.
    pub fn read_bytes(&self, name: &str, offset: u64, out: &mut [u8]) -> Result<(), ReadError> {
        let field = self.present(name)?;
        let end = offset.checked_add(out.len() as u64);
        match end {
            Some(end) if end <= field.bytes() => self.read_region(field.offset + offset, out),
            _ => Err(ReadError::Range {
                start: offset,
                end: end.unwrap_or(u64::MAX),
                bytes: field.bytes(),
            }),
        }
    }

    /// Returns the description of field `name`. Fails if the version has no values of it.
    pub(crate) fn present(&self, name: &str) -> Result<&FieldDesc, ReadError> {
        let Some(field) = self.field(name) else {
            let available = self.table().fields.iter().map(|f| f.name.clone()).collect();
            return Err(ReadError::NoField {
                name: name.to_owned(),
                available,
            });
        };
        match field.lost {
            true => Err(ReadError::Lost {
                name: name.to_owned(),
            }),
            false => Ok(field),
        }
    }

    /// Copies bytes of the region from `offset`, run by run.
    fn read_region(&self, offset: u64, out: &mut [u8]) -> Result<(), ReadError> {
        if self.session().forked() {
            // The pin is the parent's, which may release it at any time.
            return Err(ReadError::Forked);
        }
        let page = self.session().index()?.layout().page_size as u64;
        let end = offset + out.len() as u64;
        for run in self.runs(offset..end)? {
            let from = (run.pages.start as u64 * page).max(offset);
            let to = (run.pages.end as u64 * page).min(end);
            let part = &mut out[(from - offset) as usize..(to - offset) as usize];
            match run.plane() {
                None => part.fill(0),
                Some(plane) => read_at(&self.session().planes()[plane], part, from)?,
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Version").field(&self.pin.stamp).finish()
    }
}
