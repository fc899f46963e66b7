//! Shared objects: sealed memfds that other processes get for reading only.

use super::thread::without_file_size_signal;
use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, FcntlArg, OFlag, SealFlag, fallocate, fcntl, open};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::stat::{Mode, fchmod};
use nix::sys::statfs::{HUGETLBFS_MAGIC, fstatfs};
use nix::unistd::{Whence, lseek};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// A memfd of fixed size. It is sparse: parts that were never written have no memory.
#[derive(Debug)]
pub struct Object {
    file: std::fs::File,
    len: u64,
}

impl Object {
    /// Creates an object of `len` bytes. Its size is sealed, so that no mapping of it can be cut
    /// short. Its mode prevents processes of other users from reopening a read-only descriptor for
    /// writing. Both are set before any other process can have the object.
    pub fn create(name: &str, len: u64) -> io::Result<Self> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let file = std::fs::File::from(memfd_create(name, flags)?);
        fchmod(&file, Mode::S_IRUSR)?;
        check_limit(len)?;
        file.set_len(len)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        Ok(Object { file, len })
    }

    /// Returns a second descriptor of the same object, which can only read.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        read_only(&self.file)
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if the object has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes `len` bytes from `from` at `offset`. Unlike a store through a mapping, this reports a
    /// lack of memory or an unreadable source as an error and not as a signal.
    ///
    /// # Safety
    /// `from..from+len` must be memory of this process that nobody writes during the call. If a
    /// part of it is unreadable, that is an error and not undefined behaviour.
    pub unsafe fn write_from(&self, from: *const u8, len: usize, offset: u64) -> io::Result<()> {
        without_file_size_signal(|| {
            let mut done = 0;
            while done < len {
                // SAFETY: the kernel only reads the source, and checks that it is readable. By the
                // caller's promise nobody writes it.
                let n = unsafe {
                    libc::pwrite(
                        self.file.as_raw_fd(),
                        from.add(done).cast(),
                        len - done,
                        (offset + done as u64) as libc::off_t,
                    )
                };
                match Errno::result(n) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(n) => done += n as usize,
                    Err(Errno::EINTR) => {}
                    Err(e) => return Err(e.into()),
                }
            }
            Ok(())
        })
    }

    /// Reads `out.len()` bytes at `offset`. Holes read as zeros, and reading allocates no memory
    /// for them.
    pub fn read(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    /// Allocates memory for all of a range. Parts that have memory keep it and their bytes; the
    /// rest is zeros. After an error, parts of the range may have new memory.
    pub fn allocate(&self, range: Range<u64>) -> io::Result<()> {
        allocate(&self.file, range)
    }

    /// Returns the bytes of memory that the kernel has allocated for the object, including swapped
    /// ones.
    pub fn allocated(&self) -> io::Result<u64> {
        // `st_blocks` counts units of 512 bytes, whatever the block size is.
        Ok(nix::sys::stat::fstat(&self.file)?.st_blocks as u64 * 512)
    }

    /// Returns the parts of `range` that have memory, in order. Memory that [`Object::allocate`]
    /// allocated, and that was never written or read, counts as a hole here.
    pub fn extents_in(&self, range: &Range<u64>) -> io::Result<Vec<Range<u64>>> {
        let (mut extents, mut at) = (Vec::new(), range.start);
        while at < range.end
            && let Some(start) = self.seek(at, Whence::SeekData)?
            && start < range.end
        {
            let hole = self.seek(start, Whence::SeekHole)?;
            at = hole.unwrap_or(self.len).min(range.end);
            extents.push(start..at);
        }
        Ok(extents)
    }

    fn seek(&self, at: u64, whence: Whence) -> io::Result<Option<u64>> {
        match lseek(&self.file, at as i64, whence) {
            Ok(found) => Ok(Some(found as u64)),
            // No data, or no hole, follows.
            Err(Errno::ENXIO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the memory of a range to the system. The range reads as zeros from now on.
    pub fn punch(&self, range: Range<u64>) -> io::Result<()> {
        let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        let (at, len) = (range.start as i64, (range.end - range.start) as i64);
        Ok(fallocate(&self.file, flags, at, len)?)
    }
}

impl AsFd for Object {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns a second descriptor of a shared object, which can only read.
pub(super) fn read_only(file: &File) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    Ok(open(path.as_str(), flags, Mode::empty())?)
}

/// Allocates memory for all of a range of a shared object.
pub(super) fn allocate(file: &File, range: Range<u64>) -> io::Result<()> {
    // A signal interrupts the call, and the kernel frees what the call has allocated. Under a
    // profiling timer, a single call for a large range might never succeed.
    const AT_ONCE: u64 = 2 << 20;
    let mut at = range.start;
    while at < range.end {
        let len = AT_ONCE.min(range.end - at);
        match fallocate(file, FallocateFlags::empty(), at as i64, len as i64) {
            Ok(()) => at += len,
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns an error if `len` is above the limit on file sizes. Without this check the kernel would
/// send a signal that ends the process.
pub(super) fn check_limit(len: u64) -> io::Result<()> {
    let (limit, _) = getrlimit(Resource::RLIMIT_FSIZE)?;
    if len <= limit {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the limit on file sizes is {limit} bytes; raise it (ulimit -f)"
    )))
}

/// Returns the size of a shared object that came from another process. Fails if the object is not
/// sealed against shrinking: then the other process could cut a mapping of it short, which causes a
/// SIGBUS in this process.
pub fn sealed_len(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let seals = SealFlag::from_bits_truncate(fcntl(fd, FcntlArg::F_GET_SEALS)?);
    if !seals.contains(SealFlag::F_SEAL_SHRINK) {
        return Err(io::Error::other(
            "a shared object is not sealed against shrinking",
        ));
    }
    Ok(nix::sys::stat::fstat(fd)?.st_size as u64)
}

/// Does the same as [`sealed_len`] for an object that is mapped by the page. Fails if the object
/// is of huge pages (hugetlbfs). A mapping of such an object has another size than was asked for,
/// parts of it cannot be unmapped, and a load for which no huge page is left causes a SIGBUS.
pub fn sealed_len_of_pages(fd: BorrowedFd<'_>) -> io::Result<u64> {
    if fstatfs(fd)?.filesystem_type() == HUGETLBFS_MAGIC {
        return Err(io::Error::other(
            "a shared object is of huge pages (hugetlbfs), not of ordinary ones",
        ));
    }
    sealed_len(fd)
}

/// Reads `out.len()` bytes at `offset` of an object.
pub fn read_at(fd: &OwnedFd, out: &mut [u8], offset: u64) -> io::Result<()> {
    // The file is a second owner of the descriptor during the call, and never closes it.
    // SAFETY: the descriptor is open as long as it is borrowed, and `ManuallyDrop` prevents the
    // file from closing it.
    let file = std::mem::ManuallyDrop::new(unsafe {
        <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(fd.as_raw_fd())
    });
    file.read_exact_at(out, offset)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn a_read_only_descriptor_cannot_be_written_and_the_size_is_sealed() {
        let object = Object::create("tcasm-test", 8192).unwrap();
        let ro = object.read_only().unwrap();
        assert!(nix::unistd::write(&ro, b"x").is_err());
        assert_eq!(sealed_len(ro.as_fd()).unwrap(), 8192);
        assert!(nix::unistd::ftruncate(&object.file, 0).is_err());
        let mode = nix::sys::stat::fstat(&ro).unwrap().st_mode & 0o777;
        assert_eq!(mode, 0o400);
    }

    #[test]
    fn no_more_seals_can_be_added_and_programs_that_are_started_do_not_get_the_object() {
        let object = Object::create("tcasm-test", 8192).unwrap();
        let seal = FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_WRITE);
        assert_eq!(fcntl(&object.file, seal), Err(Errno::EPERM));
        let flags = fcntl(&object.file, FcntlArg::F_GETFD).unwrap();
        assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
    }

    /// Returns a sealed object of one huge page.
    pub(crate) fn huge_object() -> OwnedFd {
        let flags = MFdFlags::MFD_ALLOW_SEALING | MFdFlags::MFD_HUGETLB;
        let huge = memfd_create("tcasm-test", flags).unwrap();
        nix::unistd::ftruncate(&huge, 2 << 20).unwrap();
        fcntl(&huge, FcntlArg::F_ADD_SEALS(SealFlag::F_SEAL_SHRINK)).unwrap();
        huge
    }

    #[test]
    fn object_of_huge_pages_is_not_taken_for_one_of_pages() {
        let huge = huge_object();
        assert_eq!(sealed_len(huge.as_fd()).unwrap(), 2 << 20);
        let error = sealed_len_of_pages(huge.as_fd()).unwrap_err().to_string();
        assert!(error.contains("hugetlbfs"), "{error}");
        let object = Object::create("tcasm-test", 8192).unwrap();
        assert_eq!(sealed_len_of_pages(object.as_fd()).unwrap(), 8192);
    }

    #[test]
    fn punched_pages_read_as_zeros() {
        let object = Object::create("tcasm-test", 8192).unwrap();
        let data = [7u8; 8192];
        // SAFETY: `data` is a local array of that length, which nobody writes.
        unsafe { object.write_from(data.as_ptr(), 8192, 0) }.unwrap();
        object.punch(4096..8192).unwrap();
        let (ro, mut back) = (object.read_only().unwrap(), [1u8; 8192]);
        read_at(&ro, &mut back, 0).unwrap();
        assert!(back[..4096].iter().all(|b| *b == 7) && back[4096..].iter().all(|b| *b == 0));
    }

    #[test]
    fn a_range_gets_memory_in_pieces_and_the_kernel_counts_it() {
        const MIB: u64 = 1 << 20;
        let object = Object::create("tcasm-test", 16 * MIB).unwrap();
        object.allocate(MIB..8 * MIB).unwrap();
        object.allocate(12 * MIB..12 * MIB).unwrap();
        object.allocate(15 * MIB..16 * MIB).unwrap();
        assert_eq!(object.allocated().unwrap(), 8 * MIB);
        let data = vec![7; 7 * MIB as usize];
        // SAFETY: `data` is a local buffer of that length, which nobody writes.
        unsafe { object.write_from(data.as_ptr(), data.len(), MIB) }.unwrap();
        let extents = object.extents_in(&(0..16 * MIB)).unwrap();
        assert_eq!((extents.len(), &extents[0]), (1, &(MIB..8 * MIB)));
        object.punch(2 * MIB..3 * MIB).unwrap();
        assert_eq!(object.allocated().unwrap(), 7 * MIB);
        assert_eq!(
            object.extents_in(&(0..16 * MIB)).unwrap(),
            [MIB..2 * MIB, 3 * MIB..8 * MIB]
        );
        assert!(
            object.allocate(15 * MIB..17 * MIB).is_err(),
            "the size is sealed"
        );
    }

    #[test]
    fn an_unreadable_source_is_an_error_and_no_signal() {
        let object = Object::create("tcasm-test", 4096).unwrap();
        // SAFETY: the address is never readable, and an unreadable source is an error.
        assert!(unsafe { object.write_from(std::ptr::dangling(), 4096, 0) }.is_err());
    }
}
