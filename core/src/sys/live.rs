//! Live memory: what a tracker maps over the reservation of its caller, as ranges of addresses.

use super::mem::{MapError, Mapping, page_size};
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

/// What the pages are before the first store.
#[derive(Clone, Copy, Debug)]
pub enum Backing<'a> {
    /// Zeros.
    Zero,
    /// The pages of a file from this offset; stores go to private copies.
    File(BorrowedFd<'a>, usize),
}

/// Map readable and writable memory over `range`, which forked children do not inherit.
///
/// # Safety
/// The range must be the caller's own, and nothing borrowed from it.
pub unsafe fn map(range: &Range<usize>, backing: Backing<'_>) -> io::Result<()> {
    let (at, len) = parts(range)?;
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE | MapFlags::MAP_FIXED;
    // SAFETY: replaces a range that is the caller's own and unused, as it promises.
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

/// Put memory of another kind in the place of `range` without its bytes ever seeming to change: what lies in `own` is copied,
/// everything else is as the new backing has it.
///
/// # Safety
/// The range must be the caller's own memory, readable, which nobody writes during the call. But for `own`, which lies
/// inside, the backing must have the same bytes.
pub unsafe fn replace(
    range: &Range<usize>,
    backing: Backing<'_>,
    own: impl Iterator<Item = Range<usize>> + Clone,
) -> io::Result<()> {
    let stage = Mapping::reserve_aligned(range.len()).map_err(io::Error::other)?;
    let at = stage.addr();
    // SAFETY: the reservation is new.
    unsafe { map(&(at..at + range.len()), backing)? };
    if let Backing::File(..) = backing {
        // Before the pages are watched: then the kernel maps neighbours together. What is not mapped here takes a fault later.
        let _ = populate(&(at..at + range.len()), MADV_POPULATE_READ);
    }
    for part in own.clone() {
        let to = (at + (part.start - range.start)) as *mut u8;
        // SAFETY: inside both ranges, which are apart; the source is readable and keeps still.
        unsafe { std::ptr::copy_nonoverlapping(part.start as *const u8, to, part.len()) };
    }
    if let Backing::File(..) = backing
        && own.clone().next().is_none()
    {
        // Core dumps hold a private mapping of a file only if something in it was copied.
        let _ = copy_in_place(&(at..at + page_size()));
    }
    let (flags, to) = (
        libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
        range.start as *mut c_void,
    );
    // SAFETY: what lay in the range goes in the same step in which its copy arrives.
    let moved = unsafe { libc::mremap(at as *mut c_void, range.len(), range.len(), flags, to) };
    if moved != libc::MAP_FAILED {
        // Nothing is there any more, and somebody else may settle there.
        std::mem::forget(stage);
        return Ok(());
    }
    // The kernel may have unmapped the range before it failed. The stage still has all the bytes.
    // SAFETY: the range is the caller's; every byte that is not the backing's is copied again, from the stage.
    unsafe {
        map(range, backing)?;
        for part in own {
            let from = (at + (part.start - range.start)) as *const u8;
            std::ptr::copy_nonoverlapping(from, part.start as *mut u8, part.len());
        }
    }
    Ok(())
}

/// Copy what `range`, a private mapping of a file, still has in common with it. Pages that are private already stay where they
/// are: whoever has pinned them goes on seeing them. (Linux 5.14.)
pub fn copy_in_place(range: &Range<usize>) -> io::Result<()> {
    populate(range, MADV_POPULATE_WRITE)
}

/// Have all of `range` in memory and mapped, as if it were read now. What cannot be read is an
/// error and no signal. (Linux 5.14.)
pub fn read_ahead(range: &Range<usize>) -> io::Result<()> {
    populate(range, MADV_POPULATE_READ)
}

const MADV_POPULATE_READ: libc::c_int = 22;
const MADV_POPULATE_WRITE: libc::c_int = 23;

/// Have the pages of `range` mapped as if they were read, or written, now. No byte changes.
fn populate(range: &Range<usize>, how: libc::c_int) -> io::Result<()> {
    // SAFETY: no byte changes, by either advice.
    let done = unsafe { libc::madvise(pointer(range).as_ptr(), range.len(), how) };
    Errno::result(done)?;
    Ok(())
}

/// Map the pages of a shared object from `offset` on over `range`, readable and writable; forked children do not inherit
/// them.
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
    // SAFETY: replaces a range that is the caller's own and unused, as it promises.
    unsafe { mmap(Some(at), len, prot, flags, fd, offset as libc::off_t) }
        .map_err(|e| explain("map", range, e))?;
    advise(range, MmapAdvise::MADV_DONTFORK)
}

/// Let core dumps hold the bytes of `range`, or leave them out. (Where the kernel refuses, they are as before.)
pub fn dump(range: &Range<usize>, included: bool) {
    let advice = match included {
        true => MmapAdvise::MADV_DODUMP,
        false => MmapAdvise::MADV_DONTDUMP,
    };
    let _ = advise(range, advice);
}

/// Let `range` be written, or only read: then a store is a signal.
///
/// # Safety
/// The range must be the caller's own, and whoever writes it must be ready for the signal.
pub unsafe fn protect(range: &Range<usize>, writable: bool) -> io::Result<()> {
    let mut prot = ProtFlags::PROT_READ;
    prot.set(ProtFlags::PROT_WRITE, writable);
    // SAFETY: changes no byte; the rest is the caller's promise.
    unsafe { mprotect(pointer(range), range.len(), prot) }.map_err(|e| explain("protect", range, e))
}

/// Make `range` inaccessible again; what was in it is gone.
///
/// # Safety
/// As for [`map`].
pub unsafe fn unmap(range: &Range<usize>) -> io::Result<()> {
    let (at, len) = parts(range)?;
    let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE | MapFlags::MAP_FIXED;
    // SAFETY: as for `map`.
    unsafe { mmap_anonymous(Some(at), len, ProtFlags::PROT_NONE, flags) }
        .map_err(|e| explain("reserve", range, e))?;
    Ok(())
}

/// Keep huge pages out of `range`. A kernel built without them refuses, and need not be told.
pub fn no_huge_pages(range: &Range<usize>) {
    let _ = advise(range, MmapAdvise::MADV_NOHUGEPAGE);
}

/// Allow huge pages in `range`.
pub fn huge_pages(range: &Range<usize>) {
    let _ = advise(range, MmapAdvise::MADV_HUGEPAGE);
}

/// Gather the pages of `range` into huge ones now (Linux 6.1). Other threads may use them meanwhile.
pub fn gather(range: &Range<usize>) -> io::Result<()> {
    const MADV_COLLAPSE: libc::c_int = 25;
    // SAFETY: changes where the bytes are, not what they are.
    let done = unsafe { libc::madvise(pointer(range).as_ptr(), range.len(), MADV_COLLAPSE) };
    Errno::result(done)?;
    Ok(())
}

/// Give the private copies of `range` back: zeros, or what the file holds, take their place.
///
/// # Safety
/// The file must hold the same bytes, or nobody may need them.
pub unsafe fn drop_copies(range: &Range<usize>) -> io::Result<()> {
    advise(range, MmapAdvise::MADV_DONTNEED)
}

/// An error if a part of `range` is not mapped any more.
pub fn check_mapped(range: &Range<usize>) -> io::Result<()> {
    // SAFETY: with MS_ASYNC this starts no write; it looks the range up, which is all that is
    // wanted.
    unsafe { msync(pointer(range), range.len(), MsFlags::MS_ASYNC) }
        .map_err(|e| explain("find", range, e))
}

/// Only advice that leaves the bytes as they are, but for DONTNEED, whose caller promised.
fn advise(range: &Range<usize>, advice: MmapAdvise) -> io::Result<()> {
    // SAFETY: the range is the caller's own; see above.
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

/// Have the kernel write one zero byte at `addr`, as a read(2) into the memory does.
///
/// # Safety
/// Nothing borrowed from the byte at `addr` may be alive. (An address that cannot be written is an
/// error.)
pub unsafe fn write_by_kernel(addr: usize) -> io::Result<()> {
    let zeros = std::fs::File::open("/dev/zero")?;
    // SAFETY: the kernel checks the address, and writes one byte, which the caller lets it.
    let n = unsafe { libc::read(zeros.as_raw_fd(), addr as *mut c_void, 1) };
    Errno::result(n)?;
    Ok(())
}
