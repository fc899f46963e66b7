//! /proc/self/pagemap: which pages were written, and which are private copies.
//!
//! Written pages that may have been protected are asked for with exactly one combination of masks, `PAGE_IS_WRITTEN` and nothing
//! else: every other one reports a page that was written and then dropped as clean, on kernels from
//! 6.7 until the middle of 2026. An error may come after pages have been protected again, so it
//! means: anything may have been written.

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

/// What a scan asks for: pages in all of these categories, in any of those or not in one of the
/// next, in none of the last; and what it does.
#[derive(Debug)]
pub struct Question {
    all_of: u64,
    any_of: u64,
    or_not: u64,
    none_of: u64,
    flags: u64,
}

/// What was written; it is protected again.
pub const TAKE: Question = Question {
    all_of: WRITTEN,
    any_of: 0,
    or_not: 0,
    none_of: 0,
    flags: (raw::PM_SCAN_WP_MATCHING | raw::PM_SCAN_CHECK_WPASYNC) as u64,
};
/// What was written; it stays so.
pub const LOOK: Question = Question {
    flags: raw::PM_SCAN_CHECK_WPASYNC as u64,
    ..TAKE
};
/// What has memory or is in swap, but not the page of zeros that stands for whatever was only read. Of memory that was never
/// protected, everything else is zeros as from the beginning. What has no page tables costs nothing.
pub const EXISTING: Question = Question {
    all_of: 0,
    any_of: (raw::PAGE_IS_PRESENT | raw::PAGE_IS_SWAPPED) as u64,
    or_not: 0,
    none_of: raw::PAGE_IS_PFNZERO as u64,
    flags: 0,
};
/// The same as [`EXISTING`] without what is in swap: where pages are protected, those that do not exist look as if they were there.
pub const PRESENT: Question = Question {
    any_of: raw::PAGE_IS_PRESENT as u64,
    ..EXISTING
};

/// What a private mapping of a file has of the file, in memory.
pub const OF_THE_FILE: Question = Question {
    all_of: (raw::PAGE_IS_PRESENT | raw::PAGE_IS_FILE) as u64,
    any_of: 0,
    or_not: 0,
    none_of: 0,
    flags: 0,
};
/// What a private mapping of a file has of the file, in memory or not; and copies of its own that
/// are in swap or on the move: where pages are protected, these look the same.
pub const NOT_COPIED: Question = Question {
    all_of: 0,
    any_of: raw::PAGE_IS_FILE as u64,
    or_not: raw::PAGE_IS_PRESENT as u64,
    ..OF_THE_FILE
};

// The size is part of the request's number.
const _: () = assert!(size_of::<raw::pm_scan_arg>() == (PAGEMAP_SCAN as usize >> 16) & 0x3FFF);
const _: () = assert!(size_of::<raw::page_region>() == 24);

/// Bits of an entry: the page is in memory, is in swap, belongs to a file.
const IN_MEMORY: u64 = 1 << 63;
const IN_SWAP: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;

/// Entries read in one go: 64 KiB, which stays in the cache.
const ENTRIES: usize = 8192;
/// Regions reported in one go: 48 KiB, which most limits on locked memory allow.
const REGIONS: usize = 2048;

fn open() -> io::Result<File> {
    File::open("/proc/self/pagemap")
}

/// Takes the pages written under asynchronous write-protection, and protects them again in the same
/// step.
#[derive(Debug)]
pub struct WrittenScan {
    pagemap: File,
    /// Where the kernel writes what it found. A page of it that is missing during the scan would be
    /// an error after pages have been protected again: so it is touched and locked, and never
    /// inside a scanned range.
    regions: Mapping,
    capacity: usize,
}

impl WrittenScan {
    /// A scan of this process's own memory; in a forked child it would go on scanning the parent's.
    pub fn open() -> io::Result<Self> {
        Self::with_capacity(REGIONS)
    }

    /// The same, with room for `capacity` (at least 1) regions per call of the kernel.
    pub fn with_capacity(capacity: usize) -> io::Result<Self> {
        let capacity = capacity.max(1);
        let len = (capacity * size_of::<raw::page_region>()).next_multiple_of(page_size());
        let regions = Mapping::reserve(len).map_err(io::Error::other)?;
        // SAFETY: the reservation is new, nothing is borrowed from it; then writable memory of
        // `len` bytes.
        unsafe {
            regions.put_zero(0, len, true).map_err(io::Error::other)?;
            regions.ptr().write_bytes(0, len);
            // Only the limit on locked memory can refuse this; touched pages are hardly ever
            // missing anyway.
            libc::mlock(regions.ptr().cast(), len);
        }
        Ok(WrittenScan {
            pagemap: open()?,
            regions,
            capacity,
        })
    }

    /// Call `each` with every range of addresses in `range` that the question is answered with. Scans for written pages need
    /// all of `range` registered for asynchronous write-protection: EPERM otherwise.
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

    /// One call of the kernel: how many regions it found, and how far it came (not to the end if
    /// they were too many).
    fn step(&mut self, range: Range<usize>, question: &Question) -> io::Result<(usize, usize)> {
        // The kernel takes memory for as many regions as it is told there is room for. No more are found than there are pages.
        let pages = range.len().div_ceil(page_size());
        let mut arg = raw::pm_scan_arg {
            size: size_of::<raw::pm_scan_arg>() as u64,
            flags: question.flags,
            start: range.start as u64,
            end: range.end as u64,
            walk_end: 0,
            vec: self.regions.addr() as u64,
            vec_len: self.capacity.min(pages) as u64, // never 0: that crashes older kernels
            max_pages: 0,
            category_inverted: question.none_of | question.or_not,
            category_mask: question.all_of | question.none_of,
            category_anyof_mask: question.any_of | question.or_not,
            return_mask: question.all_of | question.any_of,
        };
        // SAFETY: the argument is the struct that the request's number stands for; `vec` is ours,
        // and has room for `vec_len` regions. What happens to the scanned memory is only that its
        // pages are write-protected.
        let result =
            unsafe { libc::ioctl(self.pagemap.as_raw_fd(), PAGEMAP_SCAN as _, &raw mut arg) };
        Ok((Errno::result(result)? as usize, arg.walk_end as usize))
    }

    fn found(&self, count: usize) -> &[raw::page_region] {
        // SAFETY: the mapping is readable, page-aligned, and at least `capacity` regions long; only
        // `step` has the kernel write to it, which takes the scan by &mut. Any bytes are valid
        // regions.
        unsafe { std::slice::from_raw_parts(self.regions.ptr().cast(), count.min(self.capacity)) }
    }

    /// Put something else in the place of the descriptor, as a program does that closes descriptors
    /// of others.
    #[cfg(test)]
    pub fn break_descriptor(&self) {
        let other = File::open("/dev/null").unwrap();
        // SAFETY: both descriptors are open; ours is closed by its owner later, whatever it is by
        // then.
        assert!(unsafe { libc::dup2(other.as_raw_fd(), self.pagemap.as_raw_fd()) } >= 0);
    }
}

/// Finds the pages of a private mapping of a file that are no longer the file's: those that were
/// written.
#[derive(Debug)]
pub struct CopyScan {
    pagemap: File,
    entries: Vec<u64>,
}

impl CopyScan {
    /// A scan of this process's own memory; in a forked child it would go on reading the parent's.
    pub fn open() -> io::Result<Self> {
        Ok(CopyScan {
            pagemap: open()?,
            entries: vec![0; ENTRIES],
        })
    }

    /// Call `each` with every range of `pages` (numbers of pages of the address space) that are
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

/// A page that exists and is not the file's. (Neither bit: never touched, or given back: then it
/// reads as the file.)
fn is_copy(entry: u64) -> bool {
    entry & (IN_MEMORY | IN_SWAP) != 0 && entry & OF_FILE == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_nobody_registered_cannot_be_scanned() {
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
        // From 0 up: file, swapped, swapped file, present, present file, ...
        assert_eq!(
            copies,
            [false, false, true, false, true, false, true, false]
        );
    }
}
