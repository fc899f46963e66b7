//! Checks whether addresses of this process are mapped, without touching the memory: a load would
//! allocate pages of sparse files.

use crate::segment::Segment;
use std::io;
use std::ops::Range;

/// Returns the first address of `segments` that is not mapped, or not so that this process may read
/// it (and write it, if `writes` is true).
pub(crate) fn first_missing(segments: &[Segment], writes: bool) -> io::Result<Option<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let ranges = ranges(&maps, writes);
    Ok(segments
        .iter()
        .find_map(|segment| missing(&ranges, *segment)))
}

/// Returns the ranges of addresses that may be used, in order. Neighbours are joined.
fn ranges(maps: &str, writes: bool) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for line in maps.lines() {
        let Some(range) = usable(line, writes) else {
            continue;
        };
        match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        }
    }
    ranges
}

/// Returns the range of a line such as `7f00-7f10 rw-p ...`, if it may be used.
fn usable(line: &str, writes: bool) -> Option<Range<usize>> {
    let mut words = line.split(' ');
    let (start, end) = words.next()?.split_once('-')?;
    let rights = words.next()?;
    if !rights.starts_with(if writes { "rw" } else { "r" }) {
        return None;
    }
    let hex = |text| usize::from_str_radix(text, 16).ok();
    Some(hex(start)?..hex(end)?)
}

fn missing(ranges: &[Range<usize>], segment: Segment) -> Option<usize> {
    let after = ranges.partition_point(|range| range.start <= segment.addr);
    let end = after.checked_sub(1).map_or(0, |i| ranges[i].end);
    match end {
        end if end <= segment.addr => Some(segment.addr),
        end if end < segment.addr + segment.len => Some(end),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "1000-3000 r--p 0 00:00 0\n3000-4000 rw-p 0 00:00 0\n5000-6000 ---p 0\n";

    #[test]
    fn first_address_outside_is_found_for_each_right() {
        let find = |addr, len, writes| missing(&ranges(MAPS, writes), Segment { addr, len });
        assert_eq!(find(0x1800, 0x2800, false), None);
        assert_eq!(find(0x1800, 0x2801, false), Some(0x4000));
        assert_eq!(find(0x800, 0x1000, false), Some(0x800));
        assert_eq!(find(0x2fff, 2, true), Some(0x2fff));
        assert_eq!(find(0x3000, 0x1000, true), None);
        assert_eq!(find(0x5000, 1, false), Some(0x5000));
    }

    #[test]
    fn memory_of_this_process_is_found() {
        let (bytes, text) = (vec![1u8; 100], "constant");
        let own = [Segment::of(&bytes), Segment::of(text.as_bytes())];
        assert_eq!(first_missing(&own, false).unwrap(), None);
        assert_eq!(first_missing(&own[..1], true).unwrap(), None);
        let none = Segment { addr: 8, len: 8 };
        assert_eq!(first_missing(&[own[0], none], false).unwrap(), Some(8));
    }
}
