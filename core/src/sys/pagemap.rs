//! Scans of `/proc/self/pagemap`, which tells which pages were written, and which are private
//! copies.
//!
//! Scans for written pages that may have been protected use exactly one combination of masks:
//! `PAGE_IS_WRITTEN` and nothing else. On kernels from 6.7 until the middle of 2026, every other
//! combination reports a page that was written and then dropped as clean. A scan may fail after it
//! has protected pages again, so an error means that any page may have been written.

use super::mem::{Mapping, page_size};
use linux_raw_sys::general as raw;
use nix::errno::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

const PAGEMAP_SCAN: libc::c_ulong = 0xC060_6610;
const WRITTEN: u64 = raw::PAGE_IS_WRITTEN as u64;

/// The pages that a scan asks for, by their categories, and what it does with them.
#[derive(Debug)]
pub struct Question {
    /// A page must be in all of these categories.
    all_of: u64,
    /// If this or `or_not` is not empty, a page must be in one of these, or not in one of `or_not`.
    any_of: u64,
    or_not: u64,
    /// A page must be in none of these categories.
    none_of: u64,
    flags: u64,
}

/// Asks for the pages that were written, and protects them again.
pub const TAKE: Question = Question {
    all_of: WRITTEN,
    any_of: 0,
    or_not: 0,
    none_of: 0,
    flags: (raw::PM_SCAN_WP_MATCHING | raw::PM_SCAN_CHECK_WPASYNC) as u64,
};
/// Asks for the pages that were written. They still count as written afterwards.
pub const LOOK: Question = Question {
    flags: raw::PM_SCAN_CHECK_WPASYNC as u64,
    ..TAKE
};
/// Asks for the pages that have memory or are in swap, except those that were only read and show
/// the kernel's page of zeros. In memory that was never protected, all other pages are zeros as at
/// the beginning. Ranges without page tables cost nothing.
pub const EXISTING: Question = Question {
    all_of: 0,
    any_of: (raw::PAGE_IS_PRESENT | raw::PAGE_IS_SWAPPED) as u64,
    or_not: 0,
    none_of: raw::PAGE_IS_PFNZERO as u64,
    flags: 0,
};
/// Asks for the same pages as [`EXISTING`], except those in swap: in protected memory, pages that
/// do not exist look as if they were in swap.
pub const PRESENT: Question = Question {
    any_of: raw::PAGE_IS_PRESENT as u64,
    ..EXISTING
};

/// Asks for private pages in memory that are neither protected nor part of a huge page.
pub const SMALL: Question = Question {
    all_of: (raw::PAGE_IS_PRESENT | raw::PAGE_IS_WRITTEN) as u64,
    none_of: (raw::PAGE_IS_FILE | raw::PAGE_IS_HUGE | raw::PAGE_IS_PFNZERO) as u64,
    ..NOTHING
};
/// Asks for pages that are mapped as parts of huge pages.
pub const HUGE: Question = Question {
    all_of: raw::PAGE_IS_HUGE as u64,
    ..NOTHING
};
/// Excludes nothing and asks for nothing.
const NOTHING: Question = Question {
    all_of: 0,
    any_of: 0,
    or_not: 0,
    none_of: 0,
    flags: 0,
};

/// Asks for the pages of a private mapping of a file that are pages of the file and in memory.
pub const OF_THE_FILE: Question = Question {
    all_of: (raw::PAGE_IS_PRESENT | raw::PAGE_IS_FILE) as u64,
    any_of: 0,
    or_not: 0,
    none_of: 0,
    flags: 0,
};
/// Asks for the private copies in a private mapping of a file that is registered for asynchronous
/// write-protection, but not protected.
pub const COPIED: Question = Question {
    any_of: (raw::PAGE_IS_PRESENT | raw::PAGE_IS_SWAPPED) as u64,
    none_of: raw::PAGE_IS_FILE as u64,
    flags: raw::PM_SCAN_CHECK_WPASYNC as u64,
    ..NOTHING
};
/// Asks for the same pages as [`COPIED`], except those in swap, also where pages are protected.
pub const COPIED_IN_MEMORY: Question = Question {
    any_of: raw::PAGE_IS_PRESENT as u64,
    ..COPIED
};
/// Asks for the pages of a private mapping of a file that are pages of the file, in memory or not,
/// and for private copies that are in swap or being migrated. In protected memory these look the
/// same.
pub const NOT_COPIED: Question = Question {
    all_of: 0,
    any_of: raw::PAGE_IS_FILE as u64,
    or_not: raw::PAGE_IS_PRESENT as u64,
    ..OF_THE_FILE
};

// The size is part of the request's number.
const _: () = assert!(size_of::<raw::pm_scan_arg>() == (PAGEMAP_SCAN as usize >> 16) & 0x3FFF);
const _: () = assert!(size_of::<raw::page_region>() == 24);

/// The bits of an entry that say that the page is in memory, is in swap, and belongs to a file.
const IN_MEMORY: u64 = 1 << 63;
const IN_SWAP: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;

/// The number of entries that one call reads: 64 KiB, which fits the cache.
const ENTRIES: usize = 8192;
/// The number of regions that one call reports: 48 KiB, which most limits on locked memory allow.
const REGIONS: usize = 2048;

fn open() -> io::Result<File> {
    File::open("/proc/self/pagemap")
}

/// Finds the pages that match a [`Question`]. For [`TAKE`], these are the pages that were written
/// under asynchronous write-protection, and they are protected again in the same step.
#[derive(Debug)]
pub struct WrittenScan {
    pagemap: File,
    /// The memory to which the kernel writes the regions that it finds. If a page of it were
    /// missing during a scan, the scan would fail after it has protected pages again. So all pages
    /// are touched and locked, and the memory never lies inside a scanned range.
    regions: Mapping,
    capacity: usize,
}

impl WrittenScan {
    /// Opens a scan of the memory of this process. A forked child must not use it: there it would
    /// still scan the memory of the parent.
    pub fn open() -> io::Result<Self> {
        Self::with_capacity(REGIONS)
    }

    /// Opens a scan with room for `capacity` (at least 1) regions per call of the kernel.
    pub fn with_capacity(capacity: usize) -> io::Result<Self> {
        let capacity = capacity.max(1);
        let len = (capacity * size_of::<raw::page_region>()).next_multiple_of(page_size());
        let regions = Mapping::reserve(len).map_err(io::Error::other)?;
        // SAFETY: the reservation is new, and nothing is borrowed from it. After `put_zero` it is
        // writable memory of `len` bytes.
        unsafe {
            regions.put_zero(0, len, true).map_err(io::Error::other)?;
            regions.ptr().write_bytes(0, len);
            // Only the limit on locked memory can refuse this. The error is ignored, because pages
            // that were touched are hardly ever missing.
            libc::mlock(regions.ptr().cast(), len);
        }
        Ok(WrittenScan {
            pagemap: open()?,
            regions,
            capacity,
        })
    }

    /// Calls `each` with every range of addresses in `range` whose pages match the question. For
    /// scans for written pages, all of `range` must be registered for asynchronous
    /// write-protection; otherwise the error is EPERM.
    pub fn scan(
        &mut self,
        range: Range<usize>,
        question: &Question,
        mut each: impl FnMut(Range<usize>),
    ) -> io::Result<()> {
        let mut at = range.start;
        while at < range.end {
            let (found, walked) = self.step(at..range.end, question)?;
            if walked <= at {
                let text = format!(
                    "PAGEMAP_SCAN of {at:#x}..{:#x} makes no progress",
                    range.end
                );
                return Err(io::Error::other(text));
            }
            self.found(found)
                .iter()
                .for_each(|r| each(r.start as usize..r.end as usize));
            at = walked;
        }
        Ok(())
    }

    /// Calls the kernel once. Returns the number of regions that it found, and the address up to
    /// which it scanned. That is before the end if there was no room for more regions.
    fn step(&mut self, range: Range<usize>, question: &Question) -> io::Result<(usize, usize)> {
        // The kernel allocates memory for `vec_len` regions. There cannot be more regions than
        // pages.
        let pages = range.len().div_ceil(page_size());
        let mut arg = raw::pm_scan_arg {
            size: size_of::<raw::pm_scan_arg>() as u64,
            flags: question.flags,
            start: range.start as u64,
            end: range.end as u64,
            walk_end: 0,
            vec: self.regions.addr() as u64,
            vec_len: self.capacity.min(pages) as u64, // never 0, which crashes older kernels
            max_pages: 0,
            category_inverted: question.none_of | question.or_not,
            category_mask: question.all_of | question.none_of,
            category_anyof_mask: question.any_of | question.or_not,
            return_mask: question.all_of | question.any_of,
        };
        // SAFETY: the argument is the struct that belongs to this request. `vec` is memory of this
        // scan, with room for `vec_len` regions. The call changes nothing in the scanned memory but
        // the write-protection of its pages.
        let result =
            unsafe { libc::ioctl(self.pagemap.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut arg) };
        Ok((Errno::result(result)? as usize, arg.walk_end as usize))
    }

    fn found(&self, count: usize) -> &[raw::page_region] {
        // SAFETY: the mapping is readable, aligned to a page, and at least `capacity` regions long.
        // The kernel writes to it only in `step`, which takes the scan by `&mut`, so not while this
        // slice is borrowed. Any bytes are valid regions.
        unsafe { std::slice::from_raw_parts(self.regions.ptr().cast(), count.min(self.capacity)) }
    }

    /// Replaces the file behind the descriptor, as happens when a program closes descriptors that
    /// are not its own.
    #[cfg(test)]
    pub fn break_descriptor(&self) {
        let other = File::open("/dev/null").unwrap();
        // SAFETY: both descriptors are open. The number stays owned by `self.pagemap`, which closes
        // it later.
        assert!(unsafe { libc::dup2(other.as_raw_fd(), self.pagemap.as_raw_fd()) } >= 0);
    }
}

/// Finds the private copies in a private mapping of a file: the pages that were written.
#[derive(Debug)]
pub struct CopyScan {
    pagemap: File,
    entries: Vec<u64>,
}

impl CopyScan {
    /// Opens a scan of the memory of this process. A forked child must not use it: there it would
    /// still read about the memory of the parent.
    pub fn open() -> io::Result<Self> {
        Ok(CopyScan {
            pagemap: open()?,
            entries: vec![0; ENTRIES],
        })
    }

    /// Calls `each` with every range of `pages` (page numbers in the address space) that are
    /// private copies.
    pub fn copies(
        &mut self,
        pages: Range<usize>,
        mut each: impl FnMut(Range<usize>),
    ) -> io::Result<()> {
        for first in pages.clone().step_by(ENTRIES) {
            let entries = &mut self.entries[..ENTRIES.min(pages.end - first)];
            self.pagemap
                .read_exact_at(bytemuck::cast_slice_mut(entries), first as u64 * 8)?;
            let mut at = first;
            for run in entries.chunk_by(|a, b| is_copy(*a) == is_copy(*b)) {
                if is_copy(run[0]) {
                    each(at..at + run.len());
                }
                at += run.len();
            }
        }
        Ok(())
    }
}

/// Returns true for a page that exists and is not a page of the file. A page that is neither in
/// memory nor in swap was never touched, or was dropped; it reads as the page of the file.
fn is_copy(entry: u64) -> bool {
    entry & (IN_MEMORY | IN_SWAP) != 0 && entry & OF_FILE == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_registered_cannot_be_scanned_for_written_pages() {
        let memory = Mapping::reserve(4 * page_size()).unwrap();
        let range = memory.addr()..memory.addr() + memory.len();
        let error = WrittenScan::open()
            .unwrap()
            .scan(range, &TAKE, |_| ())
            .unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}");
    }

    #[test]
    fn a_page_is_a_copy_when_it_exists_and_is_not_the_files() {
        let copies: Vec<bool> = (0..8).map(|bits| is_copy(bits << 61)).collect();
        // In the order of bits: nothing, file, swapped, swapped file, present, present file, ...
        assert_eq!(
            copies,
            [false, false, true, false, true, false, true, false]
        );
    }
}
