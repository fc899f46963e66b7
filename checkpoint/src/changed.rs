//! Converts changed pages of a region into changed bytes of its fields.

use std::ops::Range;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::pageset::PageSet;

/// Returns the ranges of bytes of `field` that lie in `pages`, ascending and disjoint. Pages have
/// `page_size` bytes. `older` are the fields of the version to compare with. Returns all of the
/// field if that version has it elsewhere or not at all.
///
/// If the field is longer than in that version,
/// [`Checkpointer::fill_increment`](crate::Checkpointer::fill_increment) adds the bytes that the
/// last checkpoint does not have.
pub fn changed_bytes(
    field: &FieldDesc,
    older: &FieldTable,
    pages: &PageSet,
    page_size: u64,
) -> Vec<Range<u64>> {
    let range = field.range();
    if older
        .get(&field.name)
        .is_none_or(|o| o.offset != field.offset)
    {
        return std::iter::once(0..range.end - range.start).collect();
    }
    let (first, last) = (range.start / page_size, range.end.div_ceil(page_size));
    let mut own = pages.clone();
    own.remove_range(0..first as usize);
    own.remove_range(last as usize..own.capacity().max(last as usize));
    let bytes = own.runs().map(|run| {
        let start = (run.start as u64 * page_size).max(range.start);
        let end = (run.end as u64 * page_size).min(range.end);
        start - range.start..end - range.start
    });
    bytes.collect()
}

/// Returns `runs`, ranges of changed bytes of `field`, with all bytes beyond the length that the
/// field has in `older`. Such bytes are not in a file of `older`, even if no page has changed
/// since: they may be older than that version, which was too short to have them.
pub(crate) fn with_growth(
    mut runs: Vec<Range<u64>>,
    field: &FieldDesc,
    older: &FieldTable,
) -> Vec<Range<u64>> {
    let had = older.get(&field.name).map_or(0, FieldDesc::bytes);
    let has = field.bytes();
    if had < has {
        runs.iter_mut().for_each(|run| run.end = run.end.min(had));
        runs.push(had..has);
    }
    runs.retain(|run| !run.is_empty());
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    /// Returns a field of `len` values, of which there may be 1200.
    fn variable(len: usize) -> FieldDesc {
        let mut field = FieldDesc::new("t", DType::F64, &[len]);
        field.capacity = Some(1200);
        field
    }

    fn one(range: Range<u64>) -> Vec<Range<u64>> {
        std::iter::once(range).collect()
    }

    #[test]
    fn bytes_beyond_the_older_length_count_as_changed() {
        let runs = |older: usize, len: usize, runs: &[Range<u64>]| {
            let older = FieldTable {
                fields: vec![variable(older)],
                ..FieldTable::default()
            };
            with_growth(runs.to_vec(), &variable(len), &older)
        };
        assert_eq!(runs(0, 0, &[]), []);
        assert_eq!(runs(0, 3, &[]), one(0..24));
        assert_eq!(runs(600, 1200, &[]), one(4800..9600));
        assert_eq!(runs(1200, 600, &[]), []);
        let pages = [0..4096, 8192..9600];
        assert_eq!(runs(1200, 1200, &pages), pages);
        assert_eq!(runs(600, 1200, &pages), [0..4096, 4800..9600]);
        assert_eq!(runs(1100, 1200, &pages), [0..4096, 8192..8800, 8800..9600]);
        let all = with_growth(vec![], &variable(2), &FieldTable::default());
        assert_eq!(all, one(0..16));
    }

    #[test]
    fn field_of_length_0_has_no_changed_bytes() {
        let table = FieldTable {
            fields: vec![variable(600)],
            ..FieldTable::default()
        };
        let mut pages = PageSet::new(600);
        (0..600).for_each(|page| pages.insert(page));
        assert_eq!(changed_bytes(&variable(0), &table, &pages, 4096), []);
        let new = changed_bytes(&variable(0), &FieldTable::default(), &pages, 4096);
        assert_eq!(with_growth(new, &variable(0), &FieldTable::default()), []);
    }

    #[test]
    fn pages_become_byte_ranges_cut_at_the_ends_of_the_field() {
        let mut field = FieldDesc::new("t", DType::F64, &[1200]); // 9600 bytes
        field.offset = 3 * 4096;
        let table = |field: &FieldDesc| FieldTable {
            fields: vec![field.clone()],
            ..FieldTable::default()
        };
        let mut pages = PageSet::new(600);
        [0, 2, 3, 5, 6, 599]
            .into_iter()
            .for_each(|page| pages.insert(page));
        let changed = changed_bytes(&field, &table(&field), &pages, 4096);
        assert_eq!(changed, [0..4096, 8192..9600]);
        pages.remove_range(3..6);
        assert_eq!(changed_bytes(&field, &table(&field), &pages, 4096), []);
        let mut moved = field.clone();
        moved.offset = 0;
        for older in [table(&moved), FieldTable::default()] {
            let all = changed_bytes(&field, &older, &pages, 4096);
            assert_eq!(all.first(), Some(&(0..9600)));
        }
    }
}
