//! Huge pages in memory of this process: finds memory that could be huge pages and is not.

use super::mem::HUGE_PAGE;
use super::pagemap::{HUGE, SMALL, WrittenScan};
use std::io;
use std::ops::Range;

/// Number of regions that one call of the kernel reports.
const REGIONS: usize = 512;

/// Finds ranges of small pages that the kernel can gather into huge pages.
#[derive(Debug)]
pub struct SmallPages(WrittenScan);

impl SmallPages {
    /// Opens a scan of the memory of this process. A forked child must not use it.
    pub fn open() -> io::Result<Self> {
        Ok(SmallPages(WrittenScan::with_capacity(REGIONS)?))
    }

    /// Returns the ranges of a huge page inside `range` that consist of small private pages only.
    /// All of these pages are in memory, and none is write-protected by a userfaultfd, which would
    /// keep the kernel from gathering them.
    pub fn find(&mut self, range: Range<usize>) -> io::Result<Vec<Range<usize>>> {
        let (mut found, mut run) = (Vec::new(), 0..0);
        self.0.scan(range, &SMALL, |next| {
            if next.start == run.end {
                run.end = next.end;
            } else {
                found.extend(huge_parts(&run));
                run = next;
            }
        })?;
        found.extend(huge_parts(&run));
        Ok(found)
    }
}

/// Returns the ranges of a huge page that lie inside `range`.
fn huge_parts(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let first = range.start.next_multiple_of(HUGE_PAGE);
    let last = range.end / HUGE_PAGE * HUGE_PAGE;
    (first..last.max(first))
        .step_by(HUGE_PAGE)
        .map(|at| at..at + HUGE_PAGE)
}

/// Returns true if all of `range` is mapped by huge pages. For tests and trials that have no scan.
pub fn is_huge(range: &Range<usize>) -> io::Result<bool> {
    is_huge_in(&mut WrittenScan::with_capacity(1)?, range)
}

/// Returns true if `scan` finds that all of `range` is mapped by huge pages.
pub(crate) fn is_huge_in(scan: &mut WrittenScan, range: &Range<usize>) -> io::Result<bool> {
    let mut bytes = 0;
    scan.scan(range.clone(), &HUGE, |found| bytes += found.len())?;
    Ok(bytes == range.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::live::{Backing, gather, map, no_huge_pages};
    use crate::sys::mem::{Mapping, page_size};

    /// Writes a byte to each page of `range`.
    fn fill(range: &Range<usize>) {
        for at in range.clone().step_by(page_size()) {
            // SAFETY: the tests call this with memory of their own, which they have just mapped.
            unsafe { (at as *mut u8).write_volatile(1) };
        }
    }

    #[test]
    fn only_whole_ranges_of_small_pages_in_memory_are_found() {
        let memory = Mapping::reserve_aligned(4 * HUGE_PAGE).unwrap();
        let base = memory.addr();
        let all = base..base + 4 * HUGE_PAGE;
        // SAFETY: the reservation is new, and nothing is borrowed from it.
        unsafe { map(&all, Backing::Zero) }.unwrap();
        let mut small = SmallPages::open().unwrap();
        assert!(
            small.find(all.clone()).unwrap().is_empty(),
            "nothing is in memory"
        );
        // Without this, the kernel may give huge pages at once.
        no_huge_pages(&all);
        fill(&(base + page_size()..base + 3 * HUGE_PAGE));
        let (second, third) = (base + HUGE_PAGE, base + 2 * HUGE_PAGE);
        let expected = [second..third, third..third + HUGE_PAGE];
        assert_eq!(small.find(all.clone()).unwrap(), expected);
        let inner = small.find(second + page_size()..third + HUGE_PAGE).unwrap();
        assert_eq!(
            inner.as_slice(),
            std::slice::from_ref(&(third..third + HUGE_PAGE))
        );
    }

    #[test]
    fn gathered_range_is_huge_and_is_not_found_again() {
        let memory = Mapping::reserve_aligned(HUGE_PAGE).unwrap();
        let all = memory.addr()..memory.addr() + HUGE_PAGE;
        // SAFETY: the reservation is new, and nothing is borrowed from it.
        unsafe { map(&all, Backing::Zero) }.unwrap();
        fill(&all);
        gather(&all).unwrap();
        assert!(is_huge(&all).unwrap());
        assert!(SmallPages::open().unwrap().find(all).unwrap().is_empty());
    }
}
