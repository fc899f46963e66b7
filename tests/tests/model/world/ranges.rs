//! The ranges of bytes that differ between two versions.

use super::{Check, text};
use tcasm_observer::Version;
use tcasm_tests::oracle::ensure;

/// Checks that the changed ranges of a field turn the bytes that the older version has into those
/// of the newer one, and that there are some if it `differs`.
pub(super) fn check_ranges(
    older: &Version,
    newer: &Version,
    (name, len): (&str, usize),
    differs: bool,
) -> Check {
    let ranges = newer.changed_ranges(name, Some(older));
    let ranges = ranges.map_err(text)?;
    let apart = ranges.windows(2).all(|pair| pair[0].end < pair[1].start);
    ensure(apart && ranges.is_empty() != (differs && len > 0), || {
        format!("{name}: {ranges:?}")
    })?;
    let [mut patched, mut new] = [(); 2].map(|()| vec![0; len]);
    newer.read_bytes(name, 0, &mut new).map_err(text)?;
    // A field that was not there, or had another length, has one range.
    let _ = older.read_bytes(name, 0, &mut patched);
    for range in &ranges {
        let part = range.start as usize..range.end as usize;
        patched[part.clone()].copy_from_slice(&new[part]);
    }
    ensure(patched == new, || {
        format!("{name} is not patched by {ranges:?}")
    })
}
