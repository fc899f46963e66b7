//! The parts of fields that differ from the version that was sent before.

use super::layout::same_layout;
use std::ops::Range;
use tcasm_core::format::index::IndexError;
use tcasm_observer::Version;

/// A part of a field: the number of the field, and the bytes of it.
pub(super) type Part = (u32, Range<u64>);

/// Returns the parts of the fields of `new` that a mirror needs which shows `sent`.
pub(super) fn parts(new: &Version, sent: Option<&Version>) -> Result<Vec<Part>, IndexError> {
    let fields = new.table().fields.iter().zip(0..);
    let sent = sent.filter(|sent| same_layout(sent.table(), new.table()));
    let Some(sent) = sent else {
        let all = fields.filter(|(field, _)| field.bytes() > 0);
        return Ok(all.map(|(field, i)| (i, 0..field.bytes())).collect());
    };
    let page_size = new.page_size()?;
    let pages = new.changes_since(sent)?.pages;
    let mut parts = Vec::new();
    for (field, i) in fields {
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
