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
use tcasm_core::pageset::PageSet;
use tcasm_core::place::Extent;
use tcasm_core::sys::object::read_at;

/// A version that this observer has pinned. Clones share the pin. Dropping the last clone releases
/// the version.
#[derive(Clone)]
pub struct Version {
    pin: Arc<Pin>,
    windows: Arc<Windows>,
}

/// The difference between two versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// The pages whose bytes may differ. Between versions that directly follow each other these are
    /// the captured pages. Between other versions some of the pages may only have been compacted.
    pub pages: PageSet,
    /// Names of the newer version's fields that have such pages, are new, lie in another place or
    /// have another length. (Lengths are known only where two versions are compared.)
    pub fields: Vec<String>,
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

    /// Returns the pages that this version changed against the one before it, which may be gone.
    pub fn changes(&self) -> Result<Changes, IndexError> {
        let pages = self.pin.session.index()?.changed(self.pin.slot)?;
        Ok(self.describe(pages, None))
    }

    /// Returns what differs from `older`, another version of the same region that is held too. This
    /// compares page maps and reads no page. Against a version of another region (or of the same
    /// name after a restart) everything differs.
    pub fn changes_since(&self, older: &Version) -> Result<Changes, IndexError> {
        let same = self.is_of_same_region(older);
        let pages = if same && older.number().checked_add(1) == Some(self.number()) {
            // The newer version stores its changed pages, and reading them costs less than a
            // comparison.
            self.session().index()?.changed(self.pin.slot)?
        } else if same {
            self.pin.map()?.differing(&older.pin.map()?)?
        } else {
            let pages = self.session().index()?.layout().pages;
            let mut all = PageSet::new(pages);
            all.insert_range(0..pages);
            all
        };
        Ok(self.describe(pages, Some(older.table())))
    }

    fn describe(&self, pages: PageSet, older: Option<&FieldTable>) -> Changes {
        let page = self
            .session()
            .index()
            .map_or(1, |i| i.layout().page_size as u64);
        let touched = |f: &FieldDesc| {
            let range = f.range();
            let own = (range.start / page) as usize..range.end.div_ceil(page) as usize;
            !range.is_empty() && pages.intersects(own)
        };
        let differs = |f: &FieldDesc, o: &FieldDesc| o.offset != f.offset || o.shape != f.shape;
        let moved =
            |f: &FieldDesc| older.is_some_and(|t| t.get(&f.name).is_none_or(|o| differs(f, o)));
        let fields = self
            .table()
            .fields
            .iter()
            .filter(|f| touched(f) || moved(f));
        Changes {
            fields: fields.map(|f| f.name.clone()).collect(),
            pages,
        }
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
        let Some(field) = self.field(name) else {
            let available = self.table().fields.iter().map(|f| f.name.clone()).collect();
            return Err(ReadError::NoField {
                name: name.to_owned(),
                available,
            });
        };
        if field.lost {
            let name = name.to_owned();
            return Err(ReadError::Lost { name });
        }
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
