//! Converts changed pages of a region into changed bytes of its fields.

use std::ops::Range;
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::pageset::PageSet;

/// Returns the ranges of bytes of `field` that lie in `pages`, ascending and disjoint. Pages have
/// `page_size` bytes. `older` are the fields of the version to compare with. Returns all of the
/// field if that version has it elsewhere or not at all.
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

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

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
