//! Mappings of whole files, or of memory of one's own.
#![allow(unsafe_code)]

use crate::failure::{Failure, While};
use nix::sys::mman::{
    MapFlags, MmapAdvise, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap,
};
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// A mapping, unmapped when dropped.
pub struct Memory {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process; nothing in it is tied to a thread.
unsafe impl Send for Memory {}

impl Memory {
    /// Memory of this process alone, all zero, in small pages as the simulations that are compared have it.
    pub fn private(len: usize) -> Result<Self, Failure> {
        // SAFETY: new memory at an address that the kernel chooses disturbs nothing.
        let at = unsafe {
            mmap_anonymous(
                None,
                size(len),
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_PRIVATE,
            )
        };
        let memory = Self::new(at, len)?;
        // SAFETY: the range is the mapping just made; the advice changes no content.
        let _ = unsafe { madvise(memory.at.cast(), len, MmapAdvise::MADV_NOHUGEPAGE) };
        Ok(memory)
    }

    /// A new file at `path`, to read and write together with others.
    pub fn create(path: &Path, len: usize) -> Result<(Self, File), Failure> {
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(path);
        let file = file.context(format!("creating {path:?}"))?;
        file.set_len(len as u64)
            .context(format!("sizing {path:?}"))?;
        Ok((Self::map(&file, len, true, MapFlags::MAP_SHARED)?, file))
    }

    /// The file at `path` as it is, together with others.
    pub fn open(path: &Path, writable: bool) -> Result<Self, Failure> {
        let mut options = File::options();
        let file = options.read(true).write(writable).open(path);
        let file = file.context(format!("opening {path:?}"))?;
        let len = file.metadata().context("the size of a file")?.len() as usize;
        Self::map(&file, len, writable, MapFlags::MAP_SHARED)
    }

    /// A copy-on-write copy of `file`.
    pub fn copy_on_write(file: &File, len: usize) -> Result<Self, Failure> {
        Self::map(file, len, true, MapFlags::MAP_PRIVATE)
    }

    fn map(file: &File, len: usize, writable: bool, flags: MapFlags) -> Result<Self, Failure> {
        // SAFETY: a mapping at an address that the kernel chooses disturbs nothing. (The file may be written by others: who
        // takes a slice of it must know that the protocol of the method keeps it still.)
        let at = unsafe { mmap(None, size(len), protection(writable), flags, file, 0) };
        Self::new(at, len)
    }

    fn new(at: nix::Result<NonNull<libc::c_void>>, len: usize) -> Result<Self, Failure> {
        let at = at.context(format!("mapping {len} bytes"))?.cast();
        Ok(Memory { at, len })
    }

    /// Leave it out of forked children.
    pub fn keep_from_children(&self) -> Result<(), Failure> {
        // SAFETY: the range is this mapping; the advice changes nothing here.
        unsafe { madvise(self.at.cast(), self.len, MmapAdvise::MADV_DONTFORK) }
            .context("keeping memory from children")
    }

    /// Forget what was written to a copy-on-write mapping, and be one of `file` instead.
    pub fn replace_by_copy_of(&mut self, file: &File) -> Result<(), Failure> {
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_FIXED;
        let address = NonZeroUsize::new(self.at.as_ptr() as usize);
        // SAFETY: the range is this mapping, which nobody borrows during a call by `&mut`.
        unsafe { mmap(address, size(self.len), protection(true), flags, file, 0) }
            .context("mapping the new version over the old")?;
        Ok(())
    }

    /// Let a range be written or not.
    pub fn protect(&mut self, writable: bool) -> Result<(), Failure> {
        // SAFETY: the range is this mapping, nobody borrows it during a call by `&mut`, and whoever protects it has a
        // handler for the faults.
        unsafe { mprotect(self.at.cast(), self.len, protection(writable)) }
            .context("protecting memory")
    }

    /// The bytes. Where others may write the file, only while the method's protocol keeps them from it.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: mapped readable for its length as long as `self` lives. For files: see above; a method whose protocol
        // fails shows words of another step, which is what the comparison is there to find.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    /// The bytes, to write. The same holds.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, mapped writable, and borrowed by `&mut`.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }

    /// Words that several processes read and write.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: as in `bytes`; a mapping is aligned for words, and they are only accessed as atomics.
        unsafe {
            std::slice::from_raw_parts(self.at.as_ptr().cast(), self.len / size_of::<AtomicU64>())
        }
    }

    /// Address of the first byte.
    pub fn address(&self) -> usize {
        self.at.as_ptr() as usize
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping, and borrows of it have ended.
        let _ = unsafe { munmap(self.at.cast(), self.len) };
    }
}

fn protection(writable: bool) -> ProtFlags {
    match writable {
        true => ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
        false => ProtFlags::PROT_READ,
    }
}

/// A length for the kernel, which refuses 0 as it does anything too large.
fn size(len: usize) -> NonZeroUsize {
    NonZeroUsize::new(len).unwrap_or(NonZeroUsize::MIN)
}
