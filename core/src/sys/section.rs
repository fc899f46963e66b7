//! Shared objects that several processes write until they are sealed. From then on no process can
//! change them, not even with the rights of root.

use super::object::{self, check_limit, sealed_len};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A memfd of fixed size that can be sealed against writes.
#[derive(Debug)]
pub struct Section {
    file: File,
    len: u64,
}

impl Section {
    /// Creates an object of `len` bytes, of reserved huge pages of 2 MiB if `huge` is true. Then
    /// `len` must be a multiple of 2 MiB. Its size is sealed.
    pub fn create(name: &str, len: u64, huge: bool) -> io::Result<Self> {
        let mut flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        if huge {
            flags |= MFdFlags::MFD_HUGETLB | MFdFlags::MFD_HUGE_2MB;
        }
        let file = File::from(memfd_create(name, flags)?);
        check_limit(len)?;
        file.set_len(len)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        Ok(Section { file, len })
    }

    /// Takes an object that came from another process. Fails if its size is not sealed.
    pub fn received(fd: OwnedFd) -> io::Result<Self> {
        let len = sealed_len(fd.as_fd())?;
        let file = File::from(fd);
        Ok(Section { file, len })
    }

    /// Returns the size in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if the object has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns a descriptor of the same object that can only read, and whose mappings can never be
    /// made writable.
    pub fn read_only(&self) -> io::Result<OwnedFd> {
        object::read_only(&self.file)
    }

    /// Allocates all of the object. A lack of memory is an error here, and would be a SIGBUS at
    /// the first store to a page without memory.
    pub fn allocate(&self) -> io::Result<()> {
        object::allocate(&self.file, 0..self.len)
    }

    /// Forbids every change of the object, for all processes and for ever. Returns false as long
    /// as a process has a writable mapping of it, or a device or a system call uses its pages.
    pub fn seal(&self) -> io::Result<bool> {
        let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SEAL;
        match fcntl(&self.file, FcntlArg::F_ADD_SEALS(seals)) {
            Ok(_) => Ok(true),
            Err(Errno::EBUSY) => Ok(false),
            // Another process has sealed it meanwhile, which forbids further seals.
            Err(Errno::EPERM) => self.is_sealed(),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns true if the object can no longer change.
    pub fn is_sealed(&self) -> io::Result<bool> {
        let seals = SealFlag::from_bits_truncate(fcntl(&self.file, FcntlArg::F_GET_SEALS)?);
        Ok(seals.contains(SealFlag::F_SEAL_WRITE))
    }
}

impl AsFd for Section {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::Mapping;

    #[test]
    fn object_is_sealed_only_when_no_process_can_write_it() {
        let section = Section::create("tcasm-test", 8192, false).unwrap();
        let writable = Mapping::shared(section.as_fd(), 8192, true).unwrap();
        assert!(!section.seal().unwrap() && !section.is_sealed().unwrap());
        drop(writable);
        assert!(section.seal().unwrap() && section.is_sealed().unwrap());
        assert!(section.seal().unwrap(), "it stays sealed");
        let copy = Section::received(section.read_only().unwrap()).unwrap();
        assert!(copy.is_sealed().unwrap() && copy.len() == 8192);
    }

    #[test]
    fn object_that_can_shrink_is_refused() {
        let memfd = memfd_create("tcasm-test", MFdFlags::MFD_ALLOW_SEALING).unwrap();
        assert!(Section::received(memfd).is_err());
    }
}
