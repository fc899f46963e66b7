//! Live memory: operations on the address ranges that a tracker maps over the reservation of its
//! caller.

use super::huge::is_huge;
use super::mem::{HUGE_PAGE, MapError, Mapping, page_size};
use super::numa;
use nix::errno::Errno;
use nix::sys::mman::{
    MapFlags, MmapAdvise, MsFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, msync,
};
use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// The content of pages before the first store to them.
#[derive(Clone, Copy, Debug)]
pub enum Backing<'a> {
    /// Zeros.
    Zero,
    /// The pages of a file from this offset. Stores go to private copies.
    File(BorrowedFd<'a>, usize),
}

/// Maps readable and writable memory over `range`. Forked children do not inherit it.
///
/// # Safety
/// The range must be the caller's own, and nothing may be borrowed from it.
pub unsafe fn map(range: &Range<usize>, backing: Backing<'_>) -> io::Result<()> {
    let (at, len) = parts(range)?;
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE | MapFlags::MAP_FIXED;
    // SAFETY: by the caller's promise, the range is its own, and nothing is borrowed from it.
    let mapped = unsafe {
        match backing {
            Backing::Zero => mmap_anonymous(Some(at), len, prot, flags),
            Backing::File(fd, offset) => {
                mmap(Some(at), len, prot, flags, fd, offset as libc::off_t)
            }
        }
    };
    mapped.map_err(|e| explain("map", range, e))?;
    advise(range, MmapAdvise::MADV_DONTFORK)
}

/// Maps readable and writable memory of reserved huge pages of 2 MiB over `range`, which must
/// consist of whole ones. All bytes are zeros. Forked children do not inherit it. After an error
/// the range may be mapped or unmapped.
///
/// The kernel promises all of these pages to the range, or fails with ENOMEM. So a store finds a
/// page, unless a control group counts huge pages only when they are touched.
///
/// # Safety
/// As for [`map`].
pub unsafe fn map_reserved(range: &Range<usize>) -> io::Result<()> {
    let (at, len) = parts(range)?;
    if !range.start.is_multiple_of(HUGE_PAGE) || !range.len().is_multiple_of(HUGE_PAGE) {
        // The kernel rounds the length up, and would replace what lies behind the range.
        return Err(explain("map", range, Errno::EINVAL));
    }
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // With MAP_NORESERVE no page would be promised, and a store for which there is none would be a
    // signal.
    let flags = MapFlags::MAP_PRIVATE
        | MapFlags::MAP_FIXED
        | MapFlags::MAP_HUGETLB
        | MapFlags::MAP_HUGE_2MB;
    // SAFETY: by the caller's promise, the range is its own, and nothing is borrowed from it.
    unsafe { mmap_anonymous(Some(at), len, prot, flags) }.map_err(|e| explain("map", range, e))?;
    advise(range, MmapAdvise::MADV_DONTFORK)
}

/// Replaces the memory of `range` by memory with another backing. Readers of the range never see
/// other bytes. The bytes in `own` are copied, and all other bytes come from the new backing.
///
/// Copies over zeros lie on the nodes of memory of their originals. Copies over a file lie where
/// the file's object prefers.
///
/// # Safety
/// The range must be readable memory of the caller's own that nobody writes during the call. The
/// ranges in `own` must lie inside it. The backing must hold the same bytes as the range, except in
/// `own`.
pub unsafe fn replace(
    range: &Range<usize>,
    backing: Backing<'_>,
    own: impl Iterator<Item = Range<usize>> + Clone,
) -> io::Result<()> {
    let stage = Mapping::reserve_aligned(range.len()).map_err(io::Error::other)?;
    let at = stage.addr();
    // SAFETY: the reservation is new and belongs to this function, so nothing is borrowed from it.
    unsafe { map(&(at..at + range.len()), backing)? };
    if let Backing::File(..) = backing {
        if own.clone().next().is_none() {
            include_in_core_dumps(&(at..at + range.len()), backing)?;
        }
        // While the pages are not watched, the kernel maps neighbours together. Pages that are not
        // mapped here cause a fault later.
        let _ = populate(&(at..at + range.len()), MADV_POPULATE_READ);
    }
    let copy = |part: &Range<usize>| {
        let to = (at + (part.start - range.start)) as *mut u8;
        // SAFETY: the part lies inside both ranges, which do not overlap. By the caller's promise
        // the source is readable, and nobody writes it. The target was just mapped writable.
        unsafe { std::ptr::copy_nonoverlapping(part.start as *const u8, to, part.len()) };
    };
    match backing {
        Backing::Zero if numa::several() => {
            copy_by_node(&(at..at + range.len()), own.clone(), copy);
        }
        _ => own.clone().for_each(|part| copy(&part)),
    }
    let (flags, to) = (
        libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
        range.start as *mut c_void,
    );
    // SAFETY: the range is the caller's own, and the stage belongs to this function. The kernel
    // replaces the range in one step by memory with the same bytes, so references to it stay valid.
    let moved = unsafe { libc::mremap(at as *mut c_void, range.len(), range.len(), flags, to) };
    if moved != libc::MAP_FAILED {
        // The stage is no longer mapped, and other mappings may get its addresses. Dropping it
        // would unmap them.
        std::mem::forget(stage);
        return Ok(());
    }
    // The kernel may have unmapped the range before it failed. The stage still has all bytes.
    // SAFETY: the range is the caller's own, and every byte that does not come from the backing is
    // copied again from the stage, which is readable and does not overlap the range.
    unsafe {
        map(range, backing)?;
        for part in own {
            let from = (at + (part.start - range.start)) as *const u8;
            std::ptr::copy_nonoverlapping(from, part.start as *mut u8, part.len());
        }
    }
    Ok(())
}

/// Copies the ranges in `own` to `stage`, and lets each page of the stage that gets memory lie on
/// the node of its original. The policy is set for the whole stage each time, so that it stays one
/// mapping, which can be moved. Where the kernel refuses it, the copies lie near this thread.
fn copy_by_node(
    stage: &Range<usize>,
    own: impl Iterator<Item = Range<usize>>,
    copy: impl Fn(&Range<usize>),
) {
    for (run, node) in own.flat_map(|part| numa::runs(&part)) {
        let _ = numa::prefer(stage, node);
        copy(&run);
    }
    let _ = numa::prefer(stage, None);
}

/// Has core dumps include `range`, a private mapping of a file that nobody uses yet: they do so if
/// a page of it was ever copied. The mapping has no copies and shows the same bytes afterwards.
///
/// The copy leaves a page table, so its chunk is not mapped by a huge page any more. Where the
/// range has further chunks, that chunk is mapped once more, which removes the table, and the
/// kernel joins both mappings. A range of one chunk would forget that it had a copy. There the
/// kernel is asked to map the huge page again, if it was one: it fills no holes of the file, and
/// copies nothing.
///
/// # Errors
/// The kernel may refuse to map the chunk again, as with a limit on data (`RLIMIT_DATA`). Then the
/// range is no longer of use.
fn include_in_core_dumps(range: &Range<usize>, backing: Backing<'_>) -> io::Result<()> {
    let page = range.start..range.start + page_size();
    let first = range.start..range.start + HUGE_PAGE;
    let alone = range.len() <= HUGE_PAGE;
    let huge = alone && read_ahead(range).is_ok() && is_huge(range).unwrap_or(false);
    if copy_in_place(&page).is_err() {
        return Ok(());
    }
    if !alone {
        // SAFETY: the mapping belongs to the caller, and nobody uses it yet.
        return unsafe { map(&first, backing) };
    }
    // SAFETY: the copy has the bytes of the page of the file, and nobody uses the mapping yet.
    unsafe { drop_copies(&page)? };
    if huge {
        // If the kernel refuses, the chunk is mapped by small pages.
        let _ = gather(range);
    }
    Ok(())
}

/// Makes private copies of the pages of `range`, a private mapping of a file, that are still pages
/// of the file. Pages that are private copies already are not moved, so a device for which they are
/// locked still accesses them. (Linux 5.14.)
pub fn copy_in_place(range: &Range<usize>) -> io::Result<()> {
    populate(range, MADV_POPULATE_WRITE)
}

/// Brings all of `range` into memory and maps it, as reading it would. A page that cannot be read
/// is an error and not a signal. (Linux 5.14.)
pub fn read_ahead(range: &Range<usize>) -> io::Result<()> {
    populate(range, MADV_POPULATE_READ)
}

const MADV_POPULATE_READ: libc::c_int = 22;
const MADV_POPULATE_WRITE: libc::c_int = 23;

/// Maps the pages of `range` as reading or writing them would. No byte changes.
fn populate(range: &Range<usize>, how: libc::c_int) -> io::Result<()> {
    // SAFETY: neither advice changes a byte.
    let done = unsafe { libc::madvise(pointer(range).as_ptr(), range.len(), how) };
    Errno::result(done)?;
    Ok(())
}

/// Maps the pages of a shared object from `offset` over `range`, readable and writable. Forked
/// children do not inherit them.
///
/// # Safety
/// As for [`map`].
pub unsafe fn map_shared(
    range: &Range<usize>,
    fd: BorrowedFd<'_>,
    offset: usize,
) -> io::Result<()> {
    let (at, len) = parts(range)?;
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED;
    // SAFETY: by the caller's promise, the range is its own, and nothing is borrowed from it.
    unsafe { mmap(Some(at), len, prot, flags, fd, offset as libc::off_t) }
        .map_err(|e| explain("map", range, e))?;
    advise(range, MmapAdvise::MADV_DONTFORK)
}

/// Includes the bytes of `range` in core dumps, or leaves them out. If the kernel refuses, nothing
/// changes.
pub fn dump(range: &Range<usize>, included: bool) {
    let advice = match included {
        true => MmapAdvise::MADV_DODUMP,
        false => MmapAdvise::MADV_DONTDUMP,
    };
    let _ = advise(range, advice);
}

/// Makes `range` writable or read-only. A store to read-only memory is a signal.
///
/// # Safety
/// The range must be the caller's own, and all code that writes it must be ready for the signal.
pub unsafe fn protect(range: &Range<usize>, writable: bool) -> io::Result<()> {
    let mut prot = ProtFlags::PROT_READ;
    prot.set(ProtFlags::PROT_WRITE, writable);
    // SAFETY: this changes no byte, and by the caller's promise the range is its own.
    unsafe { mprotect(pointer(range), range.len(), prot) }.map_err(|e| explain("protect", range, e))
}

/// Makes `range` inaccessible again. Its bytes are lost.
///
/// # Safety
/// As for [`map`].
pub unsafe fn unmap(range: &Range<usize>) -> io::Result<()> {
    let (at, len) = parts(range)?;
    let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE | MapFlags::MAP_FIXED;
    // SAFETY: by the caller's promise, the range is its own, and nothing is borrowed from it.
    unsafe { mmap_anonymous(Some(at), len, ProtFlags::PROT_NONE, flags) }
        .map_err(|e| explain("reserve", range, e))?;
    Ok(())
}

/// Keeps huge pages out of `range`. A kernel that is built without huge pages refuses the advice,
/// and does not need it.
pub fn no_huge_pages(range: &Range<usize>) {
    let _ = advise(range, MmapAdvise::MADV_NOHUGEPAGE);
}

/// Allows huge pages in `range`.
pub fn huge_pages(range: &Range<usize>) {
    let _ = advise(range, MmapAdvise::MADV_HUGEPAGE);
}

/// Gathers the pages of `range` into huge pages now (Linux 6.1). Other threads may use them
/// meanwhile.
pub fn gather(range: &Range<usize>) -> io::Result<()> {
    const MADV_COLLAPSE: libc::c_int = 25;
    // SAFETY: the kernel moves the bytes to other physical memory, and changes none.
    let done = unsafe { libc::madvise(pointer(range).as_ptr(), range.len(), MADV_COLLAPSE) };
    Errno::result(done)?;
    Ok(())
}

/// Drops the private copies of `range`. Zeros, or the bytes of the file, take their place.
///
/// # Safety
/// The file must hold the same bytes, or nothing may need the bytes and nothing may be borrowed
/// from the range.
pub unsafe fn drop_copies(range: &Range<usize>) -> io::Result<()> {
    advise(range, MmapAdvise::MADV_DONTNEED)
}

/// Returns an error if a part of `range` is no longer mapped.
pub fn check_mapped(range: &Range<usize>) -> io::Result<()> {
    // SAFETY: with MS_ASYNC the call starts no write. It only checks that the range is mapped.
    unsafe { msync(pointer(range), range.len(), MsFlags::MS_ASYNC) }
        .map_err(|e| explain("find", range, e))
}

/// Gives the kernel advice on `range`. The advice must leave the bytes as they are, except for
/// MADV_DONTNEED, which is used only in [`drop_copies`].
fn advise(range: &Range<usize>, advice: MmapAdvise) -> io::Result<()> {
    // SAFETY: the range is the caller's own. The advice changes no byte, except for MADV_DONTNEED,
    // for which the caller of `drop_copies` has promised that this is correct.
    unsafe { madvise(pointer(range), range.len(), advice) }
        .map_err(|e| explain("advise on", range, e))
}

fn pointer(range: &Range<usize>) -> NonNull<c_void> {
    NonNull::new(range.start as *mut c_void).unwrap_or(NonNull::dangling())
}

fn parts(range: &Range<usize>) -> io::Result<(NonZeroUsize, NonZeroUsize)> {
    let parts = NonZeroUsize::new(range.start).zip(NonZeroUsize::new(range.len()));
    parts.ok_or_else(|| explain("map", range, Errno::EINVAL))
}

fn explain(what: &'static str, range: &Range<usize>, source: Errno) -> io::Error {
    let error = MapError::Os {
        what,
        addr: range.start,
        len: range.len(),
        source,
    };
    io::Error::new(io::Error::from(source).kind(), error)
}

/// Makes the kernel write one zero byte at `addr`, as a read(2) into the memory does. An address
/// that cannot be written is an error.
///
/// # Safety
/// Nothing that was borrowed from the byte at `addr` may be alive.
pub unsafe fn write_by_kernel(addr: usize) -> io::Result<()> {
    let zeros = std::fs::File::open("/dev/zero")?;
    // SAFETY: the kernel checks the address and writes one byte, from which nothing is borrowed by
    // the caller's promise.
    let n = unsafe { libc::read(zeros.as_raw_fd(), addr as *mut c_void, 1) };
    Errno::result(n)?;
    Ok(())
}
