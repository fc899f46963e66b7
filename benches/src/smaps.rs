//! Huge pages in the memory of this process.

use std::io;
use std::ops::Range;

/// The lines of `/proc/PID/smaps` that count memory which huge pages map.
const HUGE: [&str; 5] = [
    "AnonHugePages:",
    "ShmemPmdMapped:",
    "FilePmdMapped:",
    "Shared_Hugetlb:",
    "Private_Hugetlb:",
];

/// Returns the part of `range` that huge pages map. The kernel counts them for whole mappings, so
/// of a mapping that is larger than the range, they are all taken to be inside, as far as they fit.
pub fn huge_part(range: &Range<usize>) -> io::Result<f64> {
    let smaps = std::fs::read_to_string("/proc/self/smaps")?;
    Ok(huge_bytes(&smaps, range) as f64 / range.len() as f64)
}

fn huge_bytes(smaps: &str, range: &Range<usize>) -> usize {
    // The bytes of the last mapping that are in the range and not yet counted.
    let mut left = 0;
    let mut bytes = 0;
    for line in smaps.lines() {
        if let Some(mapping) = mapping(line) {
            let end = mapping.end.min(range.end);
            left = end.saturating_sub(mapping.start.max(range.start));
        } else if let Some(huge) = huge(line) {
            let counted = huge.min(left);
            (left, bytes) = (left - counted, bytes + counted);
        }
    }
    bytes
}

/// Returns the addresses of a mapping if this line begins one.
fn mapping(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some(address(start)?..address(end)?)
}

/// Returns the bytes of huge pages if this line counts them.
fn huge(line: &str) -> Option<usize> {
    let size = HUGE.iter().find_map(|name| line.strip_prefix(name))?;
    let kib: usize = size.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;
    const SMAPS: &str = "\
00400000-00800000 rw-p 00000000 00:00 0                          [heap]
Size:               4096 kB
AnonHugePages:      2048 kB
ShmemPmdMapped:        0 kB
FilePmdMapped:         0 kB
VmFlags: rd wr mr mw me ac hg
00800000-00c00000 r--s 00000000 00:01 1043                       /memfd:tcasm-x (deleted)
Rss:                4096 kB
AnonHugePages:         0 kB
ShmemPmdMapped:     2048 kB
FilePmdMapped:      1024 kB
7f0000000000-7f0000200000 rw-p 00000000 00:00 0
AnonHugePages:      2048 kB
7f0000400000-7f0000800000 rw-p 00000000 00:0f 77                         /anon_hugepage (deleted)
Rss:                   0 kB
Shared_Hugetlb:        0 kB
Private_Hugetlb:    4096 kB
";

    #[test]
    fn huge_pages_of_all_kinds_count() {
        assert_eq!(huge_bytes(SMAPS, &(4 * MIB..8 * MIB)), 2 * MIB);
        assert_eq!(huge_bytes(SMAPS, &(8 * MIB..12 * MIB)), 3 * MIB);
        assert_eq!(huge_bytes(SMAPS, &(4 * MIB..12 * MIB)), 5 * MIB);
        assert_eq!(huge_bytes(SMAPS, &(0..usize::MAX)), 11 * MIB);
    }

    #[test]
    fn mapping_counts_at_most_as_far_as_it_lies_in_the_range() {
        assert_eq!(huge_bytes(SMAPS, &(7 * MIB..9 * MIB)), 2 * MIB);
        assert_eq!(huge_bytes(SMAPS, &(8 * MIB..10 * MIB)), 2 * MIB);
        assert_eq!(huge_bytes(SMAPS, &(12 * MIB..16 * MIB)), 0);
    }

    #[test]
    fn memory_without_huge_pages_has_none() {
        let memory = crate::plain::small_array(4 * MIB);
        // All huge pages that fit inside. The end may share its own with other memory.
        let start = memory.as_ptr().addr();
        assert_eq!(huge_part(&(start..start + 16 * MIB)).unwrap(), 0.0);
    }
}
