//! The parts of fields that are sent.

use std::ops::Range;
use tcasm_core::format::index::IndexError;
use tcasm_observer::Version;

/// A part of a field: the number of the field, and the bytes of it.
pub type Part = (u32, Range<u64>);

/// Returns all of the fields of a version, but for lost ones.
pub fn all_parts(of: &Version) -> Vec<Part> {
    let fields = of.table().fields.iter().zip(0..);
    let sent = fields.filter(|(field, _)| !field.lost && field.bytes() > 0);
    sent.map(|(field, i)| (i, 0..field.bytes())).collect()
}

/// Returns the parts of the fields of `new` that a mirror needs which shows `sent`, an older
/// version of the same region with the same layout.
pub fn changed_parts(new: &Version, sent: &Version) -> Result<Vec<Part>, IndexError> {
    let page_size = new.page_size()?;
    let pages = new.changes_since(sent)?.pages;
    let mut parts = Vec::new();
    for (field, i) in new.table().fields.iter().zip(0..).filter(|(f, _)| !f.lost) {
        let range = field.range();
        let old = sent.field(&field.name);
        if old.is_none_or(|old| old.offset != field.offset || old.shape != field.shape) {
            parts.extend((!range.is_empty()).then(|| (i, 0..field.bytes())));
            continue;
        }
        for run in pages.runs() {
            let start = (run.start as u64 * page_size).max(range.start);
            let end = (run.end as u64 * page_size).min(range.end);
            if start < end {
                parts.push((i, start - range.start..end - range.start));
            }
        }
    }
    Ok(parts)
}
