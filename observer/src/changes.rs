//! The differences between versions of a region.

use crate::error::ReadError;
use crate::version::Version;
use std::ops::Range;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::format::index::IndexError;
use tcasm_core::pageset::PageSet;

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
    /// Returns the pages that this version changed against the one before it, which may be gone.
    pub fn changes(&self) -> Result<Changes, IndexError> {
        Ok(self.describe(self.captured()?, None))
    }

    /// Returns what differs from `older`, another version of the same region that is held too. This
    /// compares page maps and reads no page. Against a version of another region (or of the same
    /// name after a restart) everything differs.
    pub fn changes_since(&self, older: &Version) -> Result<Changes, IndexError> {
        Ok(self.describe(self.differing(older)?, Some(older.table())))
    }

    /// Returns the ranges of bytes of field `name`, from its first byte on, that may differ from
    /// `older`, or from the version before this one if that is `None`. They are whole pages, cut to
    /// the field, in ascending order, and do not touch each other. This reads no page.
    ///
    /// The whole field is one range if `older` has no such field or had lost it, or if the field
    /// lies elsewhere there or has another shape. A field without bytes has no ranges.
    ///
    /// ```no_run
    /// # use tcasm_observer::{Observer, Version};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut observer = Observer::attach("heat")?;
    /// # let (old, new) = (observer.latest()?, observer.latest()?);
    /// let mut bytes = Vec::new();
    /// for range in new.changed_ranges("t", Some(&old))? {
    ///     bytes.resize((range.end - range.start) as usize, 0);
    ///     new.read_bytes("t", range.start, &mut bytes)?;
    ///     println!("{} bytes from {} on", bytes.len(), range.start);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn changed_ranges(
        &self,
        name: &str,
        older: Option<&Version>,
    ) -> Result<Vec<Range<u64>>, ReadError> {
        let field = self.present(name)?;
        let whole = field.range();
        if older.is_some_and(|older| moved(field, older.table())) {
            return Ok(Vec::from_iter(
                (!whole.is_empty()).then(|| 0..field.bytes()),
            ));
        }
        let pages = match older {
            Some(older) => self.differing(older)?,
            None => self.captured()?,
        };
        let page = self.page_size()?;
        let cut = |run: Range<usize>| {
            let (start, end) = (run.start as u64 * page, run.end as u64 * page);
            start.max(whole.start)..end.min(whole.end)
        };
        let cut = pages.runs().map(cut).filter(|range| !range.is_empty());
        Ok(cut
            .map(|r| r.start - whole.start..r.end - whole.start)
            .collect())
    }

    /// Returns the pages that were captured for this version.
    fn captured(&self) -> Result<PageSet, IndexError> {
        self.session().index()?.changed(self.pin().slot)
    }

    /// Returns the pages that may differ from those of `older`.
    fn differing(&self, older: &Version) -> Result<PageSet, IndexError> {
        let same = self.is_of_same_region(older);
        if same && older.number().checked_add(1) == Some(self.number()) {
            // The newer version stores its changed pages, and reading them costs less than a
            // comparison.
            return self.captured();
        }
        if same {
            return self.pin().map()?.differing(&older.pin().map()?);
        }
        let pages = self.session().index()?.layout().pages;
        let mut all = PageSet::new(pages);
        all.insert_range(0..pages);
        Ok(all)
    }

    fn describe(&self, pages: PageSet, older: Option<&FieldTable>) -> Changes {
        let page = self.page_size().unwrap_or(1);
        let touched = |f: &FieldDesc| {
            let range = f.range();
            let own = (range.start / page) as usize..range.end.div_ceil(page) as usize;
            !range.is_empty() && pages.intersects(own)
        };
        let moved = |f: &FieldDesc| older.is_some_and(|table| moved(f, table));
        let fields = self.table().fields.iter();
        let fields = fields.filter(|f| touched(f) || moved(f));
        Changes {
            fields: fields.map(|f| f.name.clone()).collect(),
            pages,
        }
    }
}

/// Returns true if a field is new, lies elsewhere or has another shape than in `older`, or was lost
/// there.
fn moved(field: &FieldDesc, older: &FieldTable) -> bool {
    let same =
        |old: &FieldDesc| !old.lost && old.offset == field.offset && old.shape == field.shape;
    !older.get(&field.name).is_some_and(same)
}
