//! Mappings: reservations at fixed addresses, shared objects, and the pieces that are put over a reservation.

use super::fork::Process;
use nix::errno::Errno;
use nix::sys::mman::{
    MapFlags, MmapAdvise, ProtFlags, madvise, mmap, mmap_anonymous, munlock, munmap,
};
use std::ffi::c_void;
use std::io::Read;
use std::num::NonZeroUsize;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use thiserror::Error;

/// What one entry of a page directory covers (with 4 KiB pages): the size of a huge page, too.
pub const HUGE_PAGE: usize = 2 << 20;

/// Bytes per page of this machine.
pub fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    let n = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(n).expect("sysconf knows the page size")
}

/// Why a range of addresses could not be had.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum MapError {
    #[error(
        "addresses {addr:#x}..{end:#x} are taken by {by}; give another base address, or end what uses this one"
    )]
    Taken { addr: usize, end: usize, by: String },
    #[error(
        "the process has no mappings left (limit {limit}, sysctl vm.max_map_count); raise the limit or hold fewer views"
    )]
    TooManyMappings { limit: String },
    #[error("cannot {what} {len} bytes at {addr:#x}: {source}")]
    Os {
        what: &'static str,
        addr: usize,
        len: usize,
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

/// The largest number of mappings of a process.
pub fn max_map_count() -> usize {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count");
    text.ok()
        .and_then(|t| t.trim().parse().ok())
        .unwrap_or(65530)
}

/// Whether some memory of this machine is in swap, as far as is known.
pub fn swap_in_use() -> bool {
    nix::sys::sysinfo::sysinfo().map_or(true, |info| info.swap_free() != info.swap_total())
}

/// Counted in a small buffer: with no mappings left, there is no memory for a large one.
fn mapping_count() -> usize {
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

/// A range of addresses that is unmapped when this is dropped, with whatever lies there by then.
#[derive(Debug)]
pub struct Mapping {
    ptr: NonNull<c_void>,
    len: usize,
    /// The process that made it: in a forked child the range may hold something else by now.
    process: Process,
}

// SAFETY: a mapping belongs to the process; access goes through the methods' own rules.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.process.is_current() {
            // SAFETY: the range is ours alone, and everything borrowed from it has ended.
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

/// # Safety
/// The range must be the caller's own (or empty), and nothing borrowed from it.
unsafe fn unmap(range: std::ops::Range<usize>) {
    if let Some(at) = NonNull::new(range.start as *mut c_void).filter(|_| !range.is_empty()) {
        // SAFETY: the caller's promise. A failure leaves a reservation behind, which harms nobody.
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

    /// Reserve `len` inaccessible bytes exactly at `addr`, or say what lies there.
    pub fn reserve_at(addr: usize, len: usize) -> Result<Self, MapError> {
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE | MapFlags::MAP_FIXED_NOREPLACE;
        let want = NonZeroUsize::new(addr);
        // SAFETY: a fresh inaccessible mapping that replaces nothing (NOREPLACE; kernels that do not know the flag
        // take the address as a hint, which is checked below).
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

    /// Reserve `len` inaccessible bytes wherever there is room.
    pub fn reserve(len: usize) -> Result<Self, MapError> {
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let got = unsafe { mmap_anonymous(None, length(len)?, ProtFlags::PROT_NONE, flags) };
        got.map(|ptr| Mapping::of(ptr, len))
            .map_err(|e| MapError::os("reserve", 0, len, e))
    }

    /// The same at a multiple of 2 MiB: where two ranges are aligned so, page tables can be moved between them whole.
    pub fn reserve_aligned(len: usize) -> Result<Self, MapError> {
        let room = length(len)?.get().saturating_add(HUGE_PAGE);
        let mut reserved = Mapping::reserve(room)?;
        let at = reserved.addr().next_multiple_of(HUGE_PAGE);
        let end = (at + len).next_multiple_of(page_size());
        // SAFETY: a fresh reservation; its head and its tail are given back, the rest is what it covers from now on.
        unsafe {
            unmap(reserved.addr()..at);
            unmap(end..reserved.addr() + room);
        }
        (reserved.ptr, reserved.len) = (NonNull::new(at as *mut c_void).expect("inside"), len);
        Ok(reserved)
    }

    /// Map a shared object of `len` bytes, to read or to read and write, at a multiple of 2 MiB.
    pub fn shared(fd: BorrowedFd<'_>, len: usize, writable: bool) -> Result<Self, MapError> {
        let range = Mapping::shared_closed(fd, len)?;
        // SAFETY: the mapping is new. Others may write the object: the methods below hand out atomics
        // and raw pointers only.
        unsafe { range.protect(0, len, writable)? };
        Ok(range)
    }

    /// Map a shared object of `len` bytes at a multiple of 2 MiB, inaccessible until [`Mapping::open`].
    ///
    /// The mapping is not locked in memory, whatever `mlockall(MCL_FUTURE)` asks for: locking allocates every
    /// page of a sparse object. A later `mlockall(MCL_CURRENT)` allocates only what is accessible by then.
    pub fn shared_closed(fd: BorrowedFd<'_>, len: usize) -> Result<Self, MapError> {
        let range = Mapping::reserve_aligned(len)?;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED;
        let at = NonZeroUsize::new(range.addr());
        // SAFETY: replaces a fresh reservation, with an inaccessible mapping.
        let got = unsafe { mmap(at, length(len)?, ProtFlags::PROT_NONE, flags, fd, 0) };
        got.map_err(|e| MapError::os("map a shared object of", range.addr(), len, e))?;
        // SAFETY: the range is ours. Where unlocking fails, nothing was locked, or memory is used that
        // the program has asked for.
        let _ = unsafe { munlock(range.ptr, len) };
        Ok(range)
    }

    /// Make `at..at+len` of a mapping of a writable object readable and writable.
    pub fn open(&self, at: usize, len: usize) -> Result<(), MapError> {
        // SAFETY: more can be accessed afterwards, and nothing less. The methods of a mapping hand out
        // raw pointers and atomics only, whose users know what others may write.
        unsafe { self.protect(at, len, true) }
    }

    /// First address.
    pub fn addr(&self) -> usize {
        self.ptr.as_ptr() as usize
    }

    /// Pointer to the first byte.
    pub fn ptr(&self) -> *mut u8 {
        self.ptr.as_ptr().cast()
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never true: a mapping has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The mapping as atomic words.
    ///
    /// # Safety
    /// The whole mapping must be readable (and, for stores, writable) as long as it lives: made by
    /// [`Mapping::shared`] from an object that is sealed against shrinking, or checked to be long enough.
    pub unsafe fn words(&self) -> &[AtomicU64] {
        // SAFETY: page-aligned, readable for self.len bytes by the caller's promise; other processes may write, which
        // atomics allow.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr().cast(), self.len / 8) }
    }

    /// Keep the mapping out of forked children, which would see or do what is the parent's alone, and out of core
    /// dumps: dumping a hole of a sparse object allocates it.
    pub fn dont_fork_or_dump(&self) -> Result<(), MapError> {
        self.dont_fork_or_dump_part(0, self.len)
    }

    /// The same for `at..at+len`. What is mapped there afterwards is inherited, and dumped, again.
    pub fn dont_fork_or_dump_part(&self, at: usize, len: usize) -> Result<(), MapError> {
        let (fork, dump) = (MmapAdvise::MADV_DONTFORK, MmapAdvise::MADV_DONTDUMP);
        self.advise("keep from forked children", at, len, fork)?;
        self.advise("keep out of core dumps", at, len, dump)
    }

    /// Keep huge pages out of the mapping: one page that is written would take the memory of 512. A kernel without
    /// huge pages refuses, and needs no advice.
    pub fn no_huge_pages(&self) {
        let _ = self.advise(
            "keep huge pages from",
            0,
            self.len,
            MmapAdvise::MADV_NOHUGEPAGE,
        );
    }

    /// Only advice that changes no byte.
    fn advise(
        &self,
        what: &'static str,
        at: usize,
        len: usize,
        advice: MmapAdvise,
    ) -> Result<(), MapError> {
        let addr = self.part(at, len)?;
        let ptr = NonNull::new(addr.get() as *mut c_void).expect("an address in a mapping");
        // SAFETY: the range is ours, and no byte of it changes.
        unsafe { madvise(ptr, len, advice) }.map_err(|e| MapError::os(what, addr.get(), len, e))
    }

    /// Allocate and map the pages `at..at+len` of a writable shared object (Linux 5.14; before, EINVAL). No byte changes. A
    /// lack of memory is ENOMEM, after which some pages may be allocated. Takes no lock of the object, which others who
    /// have a descriptor of it can hold for long.
    pub fn populate(&self, at: usize, len: usize) -> Result<(), Errno> {
        const MADV_POPULATE_WRITE: libc::c_int = 23;
        let addr = self.part(at, len).map_err(|_| Errno::ERANGE)?.get();
        loop {
            // SAFETY: a range of our mapping; its content stays what it is.
            let done = unsafe { libc::madvise(addr as *mut c_void, len, MADV_POPULATE_WRITE) };
            match Errno::result(done) {
                Err(Errno::EINTR) => {}
                // What would be a SIGBUS for a store.
                Err(Errno::EFAULT) => return Err(Errno::ENOMEM),
                done => return done.map(drop),
            }
        }
    }

    /// Put pages `offset..offset+len` of a shared object, read-only, over the same range at `at` bytes of this
    /// reservation.
    ///
    /// # Safety
    /// Nothing borrowed from that part of the reservation may be alive.
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

    /// Put fresh zero pages over `at..at+len` of this reservation: to read, or to read and write.
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

    /// Make `at..at+len` of this reservation read-only, or writable too.
    ///
    /// # Safety
    /// Nothing borrowed from that part may be alive; and only private memory may be made writable.
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
        || "something outside this process's addresses (the range may be beyond what the kernel offers)".into(),
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
    fn a_taken_address_is_refused_and_the_mapping_in_the_way_is_named() {
        let first = Mapping::reserve(1 << 16).unwrap();
        let error = Mapping::reserve_at(first.addr() + page_size(), page_size()).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, MapError::Taken { .. }), "{text}");
        assert!(text.contains(&format!("{:x}-", first.addr())), "{text}");
    }

    #[test]
    fn a_dropped_reservation_can_be_had_again() {
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
