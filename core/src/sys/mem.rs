//! Mappings: reservations at fixed addresses, mappings of shared objects, and the parts of a
//! reservation that are replaced.

mod split;

use super::fork::Process;
use nix::errno::Errno;
use nix::sys::mman::{
    MapFlags, MmapAdvise, ProtFlags, madvise, mlock, mmap, mmap_anonymous, munlock, munmap,
};
use std::ffi::c_void;
use std::io::Read;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use thiserror::Error;

pub use super::page::page_size;

/// The bytes that one entry of a page directory covers with 4 KiB pages, which is also the size of
/// a huge page.
pub const HUGE_PAGE: usize = 2 << 20;

/// The reason why a range of addresses cannot be mapped or changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MapError {
    /// Something else is mapped there.
    #[error(
        "addresses {addr:#x}..{end:#x} are taken by {by}; give another base address, or end what \
         uses this one"
    )]
    Taken {
        /// The first address.
        addr: usize,
        /// The address after the last one.
        end: usize,
        /// The mapping at that address.
        by: String,
    },
    /// The process has as many mappings as it may have.
    #[error(
        "the process has no mappings left (limit {limit}, sysctl vm.max_map_count); raise the \
         limit or hold fewer views"
    )]
    TooManyMappings {
        /// The largest number of mappings of a process.
        limit: String,
    },
    /// The kernel refused an operation.
    #[error("cannot {what} {len} bytes at {addr:#x}: {source}")]
    Os {
        /// The operation.
        what: &'static str,
        /// The first address.
        addr: usize,
        /// The number of bytes.
        len: usize,
        /// The error of the kernel.
        source: Errno,
    },
}

impl MapError {
    fn os(what: &'static str, addr: usize, len: usize, source: Errno) -> Self {
        if source == Errno::ENOMEM && mapping_count() + 64 > max_map_count() {
            return MapError::TooManyMappings {
                limit: max_map_count().to_string(),
            };
        }
        MapError::Os {
            what,
            addr,
            len,
            source,
        }
    }
}

/// Returns the largest number of mappings that a process may have.
pub fn max_map_count() -> usize {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    text.ok()
        .and_then(|t| t.trim().parse().ok())
        .unwrap_or(65530)
}

/// Returns true if some memory of this machine is in swap, or if that is not known.
pub fn swap_in_use() -> bool {
    nix::sys::sysinfo::sysinfo().map_or(true, |info| info.swap_free() != info.swap_total())
}

/// Returns the number of mappings of this process. It uses a small buffer, because without mappings
/// left there is no memory for a large one.
pub fn mapping_count() -> usize {
    let count = || -> std::io::Result<usize> {
        let mut maps = std::fs::File::open("/proc/self/maps")?;
        let (mut buffer, mut lines) = ([0; 4096], 0);
        loop {
            match maps.read(&mut buffer)? {
                0 => return Ok(lines),
                n => lines += buffer[..n].iter().filter(|b| **b == b'\n').count(),
            }
        }
    };
    count().unwrap_or(0)
}

/// A range of addresses. Dropping it unmaps the range, with everything that is mapped there by
/// then.
#[derive(Debug)]
pub struct Mapping {
    ptr: NonNull<c_void>,
    len: usize,
    /// The process that created it. In a forked child, something else may be mapped in the range.
    process: Process,
}

// SAFETY: a mapping belongs to the whole process and not to a thread. The methods give access to
// its memory only as atomics and raw pointers, or through unsafe methods with rules of their own.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.process.is_current() {
            // SAFETY: the range belongs to this mapping alone. Everything that was borrowed from
            // the mapping has ended.
            let _ = unsafe { munmap(self.ptr, self.len) };
        }
    }
}

fn access(writable: bool) -> ProtFlags {
    if writable {
        ProtFlags::PROT_READ | ProtFlags::PROT_WRITE
    } else {
        ProtFlags::PROT_READ
    }
}

/// Unmaps a range.
///
/// # Safety
/// The range must be the caller's own (or empty), and nothing may be borrowed from it.
unsafe fn unmap(range: std::ops::Range<usize>) {
    if let Some(at) = NonNull::new(range.start as *mut c_void).filter(|_| !range.is_empty()) {
        // SAFETY: the obligations are the same as for this function. A failure leaves a reservation
        // behind, which does no harm.
        let _ = unsafe { munmap(at, range.len()) };
    }
}

fn length(len: usize) -> Result<NonZeroUsize, MapError> {
    let error = MapError::Os {
        what: "map",
        addr: 0,
        len,
        source: Errno::EINVAL,
    };
    NonZeroUsize::new(len).ok_or(error)
}

impl Mapping {
    fn of(ptr: NonNull<c_void>, len: usize) -> Self {
        Mapping {
            ptr,
            len,
            process: Process::current(),
        }
    }

    /// Reserves `len` inaccessible bytes exactly at `addr`. If something is mapped there, the error
    /// names it.
    pub fn reserve_at(addr: usize, len: usize) -> Result<Self, MapError> {
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE | MapFlags::MAP_FIXED_NOREPLACE;
        let want = NonZeroUsize::new(addr);
        // SAFETY: this is a new inaccessible mapping that replaces nothing, because of
        // MAP_FIXED_NOREPLACE. Kernels that do not know the flag take the address as a hint, and
        // the result is checked below.
        let got = unsafe { mmap_anonymous(want, length(len)?, ProtFlags::PROT_NONE, flags) };
        match got {
            Ok(ptr) => {
                let mapping = Mapping::of(ptr, len);
                if mapping.addr() == addr {
                    Ok(mapping)
                } else {
                    Err(taken(addr, len))
                }
            }
            Err(Errno::EEXIST) => Err(taken(addr, len)),
            Err(e) => Err(MapError::os("reserve", addr, len, e)),
        }
    }

    /// Reserves `len` inaccessible bytes at an address that the kernel chooses.
    pub fn reserve(len: usize) -> Result<Self, MapError> {
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: this is a new mapping at an address that the kernel chooses.
        let got = unsafe { mmap_anonymous(None, length(len)?, ProtFlags::PROT_NONE, flags) };
        got.map(|ptr| Mapping::of(ptr, len))
            .map_err(|e| MapError::os("reserve", 0, len, e))
    }

    /// Reserves `len` inaccessible bytes at a multiple of 2 MiB. Between two ranges that are
    /// aligned so, the kernel can move whole page tables.
    pub fn reserve_aligned(len: usize) -> Result<Self, MapError> {
        let room = length(len)?.get().saturating_add(HUGE_PAGE);
        let mut reserved = Mapping::reserve(room)?;
        let at = reserved.addr().next_multiple_of(HUGE_PAGE);
        let end = (at + len).next_multiple_of(page_size());
        // SAFETY: the reservation is new, and nothing is borrowed from it. Its head and its tail
        // are unmapped, and from now on it covers only the rest.
        unsafe {
            unmap(reserved.addr()..at);
            unmap(end..reserved.addr() + room);
        }
        (reserved.ptr, reserved.len) = (NonNull::new(at as *mut c_void).expect("inside"), len);
        Ok(reserved)
    }

    /// Maps a shared object of `len` bytes at a multiple of 2 MiB, for reading, or for reading and
    /// writing.
    pub fn shared(fd: BorrowedFd<'_>, len: usize, writable: bool) -> Result<Self, MapError> {
        let range = Mapping::shared_closed(fd, len)?;
        // SAFETY: the mapping is new, so nothing is borrowed from it. Other processes may write the
        // object, but the methods below give access only through atomics and raw pointers.
        unsafe { range.protect(0, len, writable)? };
        Ok(range)
    }

    /// Maps a shared object of `len` bytes at a multiple of 2 MiB. It is inaccessible until
    /// [`Mapping::open`].
    ///
    /// The mapping is not locked in memory, even if the program has called `mlockall(MCL_FUTURE)`,
    /// because locking allocates every page of a sparse object. A later `mlockall(MCL_CURRENT)`
    /// allocates only the parts that are accessible by then.
    pub fn shared_closed(fd: BorrowedFd<'_>, len: usize) -> Result<Self, MapError> {
        let range = Mapping::reserve_aligned(len)?;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED;
        let at = NonZeroUsize::new(range.addr());
        // SAFETY: this replaces a new reservation, from which nothing is borrowed, by an
        // inaccessible mapping.
        let got = unsafe { mmap(at, length(len)?, ProtFlags::PROT_NONE, flags, fd, 0) };
        got.map_err(|e| MapError::os("map a shared object of", range.addr(), len, e))?;
        // SAFETY: the range belongs to this mapping. If unlocking fails, either nothing was locked,
        // or the mapping uses memory for which the program has asked.
        let _ = unsafe { munlock(range.ptr, len) };
        Ok(range)
    }

    /// Makes `at..at+len` of a mapping of a writable object readable and writable.
    pub fn open(&self, at: usize, len: usize) -> Result<(), MapError> {
        // SAFETY: this only allows more accesses. The methods of a mapping give access only through
        // raw pointers and atomics, whose users expect that other processes write the memory.
        unsafe { self.protect(at, len, true) }
    }

    /// Returns the first address.
    pub fn addr(&self) -> usize {
        self.ptr.as_ptr() as usize
    }

    /// Returns a pointer to the first byte.
    pub fn ptr(&self) -> *mut u8 {
        self.ptr.as_ptr().cast()
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if all bytes were [split off](Self::split_off).
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the memory of the mapping as atomic words.
    ///
    /// # Safety
    /// The whole mapping must be readable (and, for stores, writable) as long as it lives. This
    /// holds if [`Mapping::shared`] made it from an object that is long enough and sealed against
    /// shrinking.
    pub unsafe fn words(&self) -> &[AtomicU64] {
        // SAFETY: the memory is aligned to a page, and readable for `self.len` bytes by the
        // caller's promise. Other processes may write it, which atomics allow.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr().cast(), self.len / 8) }
    }

    /// Keeps the mapping out of forked children, which must not use memory of the parent, and out
    /// of core dumps, because dumping a hole of a sparse object allocates it.
    pub fn dont_fork_or_dump(&self) -> Result<(), MapError> {
        self.dont_fork_or_dump_part(0, self.len)
    }

    /// Does the same as [`dont_fork_or_dump`](Self::dont_fork_or_dump) for `at..at+len`. Memory
    /// that is mapped there later is inherited and dumped again.
    pub fn dont_fork_or_dump_part(&self, at: usize, len: usize) -> Result<(), MapError> {
        let fork = MmapAdvise::MADV_DONTFORK;
        self.advise("keep from forked children", at, len, fork)?;
        self.dont_dump_part(at, len)
    }

    /// Keeps `at..at+len` of the mapping out of core dumps. Memory that is mapped there later is
    /// dumped again.
    pub fn dont_dump_part(&self, at: usize, len: usize) -> Result<(), MapError> {
        let dump = MmapAdvise::MADV_DONTDUMP;
        self.advise("keep out of core dumps", at, len, dump)
    }

    /// Keeps huge pages out of the mapping, because with them one written page would take the
    /// memory of 512. A kernel without huge pages refuses the advice, and does not need it.
    pub fn no_huge_pages(&self) {
        self.no_huge_pages_part(0, self.len);
    }

    /// Does the same as [`no_huge_pages`](Self::no_huge_pages) for `at..at+len`. Memory that is
    /// mapped there later is not covered.
    pub fn no_huge_pages_part(&self, at: usize, len: usize) {
        let _ = self.advise("keep huge pages from", at, len, MmapAdvise::MADV_NOHUGEPAGE);
    }

    /// Allows huge pages in `at..at+len`. A kernel without huge pages refuses the advice.
    pub fn huge_pages_part(&self, at: usize, len: usize) {
        let _ = self.advise("allow huge pages in", at, len, MmapAdvise::MADV_HUGEPAGE);
    }

    /// Reverses [`no_huge_pages`](Self::no_huge_pages) for `at..at+len`.
    pub fn allow_huge_pages(&self, at: usize, len: usize) {
        let _ = self.advise("allow huge pages in", at, len, MmapAdvise::MADV_HUGEPAGE);
    }

    /// Gives the kernel advice on a part of the mapping. `advice` must be one that changes no byte.
    fn advise(
        &self,
        what: &'static str,
        at: usize,
        len: usize,
        advice: MmapAdvise,
    ) -> Result<(), MapError> {
        let addr = self.part(at, len)?;
        let ptr = NonNull::new(addr.get() as *mut c_void).expect("an address in a mapping");
        // SAFETY: the range lies in this mapping, and the advice changes no byte of it.
        unsafe { madvise(ptr, len, advice) }.map_err(|e| MapError::os(what, addr.get(), len, e))
    }

    /// Allocates and maps the pages `at..at+len` of a writable shared object or of writable private
    /// memory (Linux 5.14; EINVAL on older kernels). No byte changes. If memory is short, the error
    /// is ENOMEM, and some pages may be allocated. This does not take the lock of the object's
    /// inode, which any process with a descriptor of the object can hold for long.
    pub fn populate(&self, at: usize, len: usize) -> Result<(), Errno> {
        const MADV_POPULATE_WRITE: libc::c_int = 23;
        let addr = self.part(at, len).map_err(|_| Errno::ERANGE)?.get();
        loop {
            // SAFETY: the range lies in this mapping, and no byte of it changes.
            let done = unsafe { libc::madvise(addr as *mut c_void, len, MADV_POPULATE_WRITE) };
            match Errno::result(done) {
                Err(Errno::EINTR) => {}
                // A store would get a SIGBUS in this case.
                Err(Errno::EFAULT) => return Err(Errno::ENOMEM),
                done => return done.map(drop),
            }
        }
    }

    /// Locks `at..at+len` of the mapping in memory, and so allocates all of it. This fails above
    /// the limit on locked memory (RLIMIT_MEMLOCK).
    pub fn lock(&self, at: usize, len: usize) -> Result<(), MapError> {
        let addr = self.part(at, len)?;
        let ptr = NonNull::new(addr.get() as *mut c_void).expect("an address in a mapping");
        // SAFETY: the range lies in this mapping, and no byte of it changes.
        unsafe { mlock(ptr, len) }.map_err(|e| MapError::os("lock in memory", addr.get(), len, e))
    }

    /// Maps the pages `offset..offset+len` of a shared object, read-only, over `at..at+len` of this
    /// reservation.
    ///
    /// # Safety
    /// Nothing that was borrowed from that part of the reservation may be alive.
    pub unsafe fn put_shared(
        &self,
        at: usize,
        len: usize,
        fd: BorrowedFd<'_>,
        offset: usize,
    ) -> Result<(), MapError> {
        let addr = self.part(at, len)?;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED;
        // SAFETY: the range lies in our reservation, and by the caller's promise nobody uses it.
        unsafe {
            mmap(
                Some(addr),
                length(len)?,
                ProtFlags::PROT_READ,
                flags,
                fd,
                offset as i64,
            )
        }
        .map(|_| ())
        .map_err(|e| MapError::os("map pages of a plane of", addr.get(), len, e))
    }

    /// Maps new zero pages over `at..at+len` of this reservation, for reading, or for reading and
    /// writing.
    ///
    /// # Safety
    /// As for [`Mapping::put_shared`].
    pub unsafe fn put_zero(&self, at: usize, len: usize, writable: bool) -> Result<(), MapError> {
        let addr = self.part(at, len)?;
        let prot = access(writable);
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE | MapFlags::MAP_FIXED;
        // SAFETY: the range lies in our reservation, and by the caller's promise nobody uses it.
        unsafe { mmap_anonymous(Some(addr), length(len)?, prot, flags) }
            .map(|_| ())
            .map_err(|e| MapError::os("map zero pages of", addr.get(), len, e))
    }

    /// Makes `at..at+len` of this mapping readable, and also writable if `writable` is true.
    ///
    /// # Safety
    /// Nothing that was borrowed from that part may be alive. If it becomes writable, it must be
    /// private memory or a shared object that may be written through this mapping.
    pub unsafe fn protect(&self, at: usize, len: usize, writable: bool) -> Result<(), MapError> {
        let addr = self.part(at, len)?;
        let ptr = NonNull::new(addr.get() as *mut c_void).expect("an address in a mapping");
        // SAFETY: the range lies in our reservation, and by the caller's promise nobody uses it.
        unsafe { nix::sys::mman::mprotect(ptr, len, access(writable)) }
            .map_err(|e| MapError::os("protect", addr.get(), len, e))
    }

    fn part(&self, at: usize, len: usize) -> Result<NonZeroUsize, MapError> {
        let inside = at.checked_add(len).is_some_and(|end| end <= self.len);
        let addr = NonZeroUsize::new(self.addr() + at).filter(|_| inside);
        addr.ok_or(MapError::Os {
            what: "map",
            addr: at,
            len,
            source: Errno::EINVAL,
        })
    }
}

fn taken(addr: usize, len: usize) -> MapError {
    let end = addr.saturating_add(len);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let by = maps.lines().find(|line| overlaps(line, addr, end)).map_or_else(
        || {
            "something outside this process's addresses (the range may be beyond what the kernel \
             offers)"
                .into()
        },
        |line| format!("the mapping {line:?}"),
    );
    MapError::Taken { addr, end, by }
}

fn overlaps(line: &str, addr: usize, end: usize) -> bool {
    let range = line.split(' ').next().and_then(|r| r.split_once('-'));
    let Some((from, to)) = range else {
        return false;
    };
    let hex = |s| usize::from_str_radix(s, 16);
    matches!((hex(from), hex(to)), (Ok(f), Ok(t)) if f < end && addr < t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_for_a_taken_address_names_the_mapping_that_is_there() {
        let first = Mapping::reserve(1 << 16).unwrap();
        let error = Mapping::reserve_at(first.addr() + page_size(), page_size()).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, MapError::Taken { .. }), "{text}");
        assert!(text.contains(&format!("{:x}-", first.addr())), "{text}");
    }

    #[test]
    fn the_range_of_a_dropped_reservation_can_be_reserved_again() {
        let addr = Mapping::reserve(1 << 16).unwrap().addr();
        assert_eq!(Mapping::reserve_at(addr, 1 << 16).unwrap().addr(), addr);
    }

    #[test]
    fn nothing_is_mapped_outside_a_reservation() {
        let r = Mapping::reserve(1 << 16).unwrap();
        // SAFETY: nothing is borrowed from the reservation.
        let out = unsafe { r.put_zero(1 << 16, page_size(), false) };
        assert!(out.is_err());
    }
}
