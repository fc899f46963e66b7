//! Mappings of whole files, and of private memory.
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

/// A mapping. It is unmapped when this value is dropped.
pub struct Memory {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process. Nothing in it is tied to a thread.
unsafe impl Send for Memory {}

impl Memory {
    /// Maps private memory of this process, filled with zeros. It uses small pages, like the memory
    /// of the simulations that are compared.
    pub fn private(len: usize) -> Result<Self, Failure> {
        // SAFETY: the kernel chooses the address, so the new mapping replaces no other.
        let at = unsafe {
            mmap_anonymous(
                None,
                size(len),
                ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
                MapFlags::MAP_PRIVATE,
            )
        };
        let memory = Self::new(at, len)?;
        // SAFETY: the range is the new mapping. The advice changes no content.
        let _ = unsafe { madvise(memory.at.cast(), len, MmapAdvise::MADV_NOHUGEPAGE) };
        Ok(memory)
    }

    /// Creates a file at `path` and maps it shared, to read and write.
    pub fn create(path: &Path, len: usize) -> Result<(Self, File), Failure> {
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(path);
        let file = file.context(format!("creating {path:?}"))?;
        file.set_len(len as u64)
            .context(format!("sizing {path:?}"))?;
        Ok((Self::map(&file, len, true, MapFlags::MAP_SHARED)?, file))
    }

    /// Opens the file at `path` and maps it shared.
    pub fn open(path: &Path, writable: bool) -> Result<Self, Failure> {
        let mut options = File::options();
        let file = options.read(true).write(writable).open(path);
        let file = file.context(format!("opening {path:?}"))?;
        let len = file.metadata().context("reading the size of a file")?.len() as usize;
        Self::map(&file, len, writable, MapFlags::MAP_SHARED)
    }

    /// Maps `file` privately, copy-on-write.
    pub fn copy_on_write(file: &File, len: usize) -> Result<Self, Failure> {
        Self::map(file, len, true, MapFlags::MAP_PRIVATE)
    }

    fn map(file: &File, len: usize, writable: bool, flags: MapFlags) -> Result<Self, Failure> {
        // SAFETY: the kernel chooses the address, so the mapping replaces no other. Other processes
        // may write the file. Code that takes a slice of it must rely on the method's protocol to
        // prevent that.
        let at = unsafe { mmap(None, size(len), protection(writable), flags, file, 0) };
        Self::new(at, len)
    }

    fn new(at: nix::Result<NonNull<libc::c_void>>, len: usize) -> Result<Self, Failure> {
        let at = at.context(format!("mapping {len} bytes"))?.cast();
        Ok(Memory { at, len })
    }

    /// Excludes the mapping from forked children.
    pub fn keep_from_children(&self) -> Result<(), Failure> {
        // SAFETY: the range is this mapping. The advice changes nothing in this process.
        unsafe { madvise(self.at.cast(), self.len, MmapAdvise::MADV_DONTFORK) }
            .context("excluding memory from forked children")
    }

    /// Discards what was written to a copy-on-write mapping, and maps `file` copy-on-write in its
    /// place.
    pub fn replace_by_copy_of(&mut self, file: &File) -> Result<(), Failure> {
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_FIXED;
        let address = NonZeroUsize::new(self.at.as_ptr() as usize);
        // SAFETY: the range is this mapping. It is not borrowed, because the call takes `&mut
        // self`.
        unsafe { mmap(address, size(self.len), protection(true), flags, file, 0) }
            .context("mapping the new version over the old")?;
        Ok(())
    }

    /// Allows writes to the mapping, or forbids them.
    pub fn protect(&mut self, writable: bool) -> Result<(), Failure> {
        // SAFETY: the range is this mapping. It is not borrowed, because the call takes `&mut
        // self`. A caller that forbids writes has a handler for the faults.
        unsafe { mprotect(self.at.cast(), self.len, protection(writable)) }
            .context("protecting memory")
    }

    /// Returns the bytes. If other processes may write the file, call this only while the method's
    /// protocol prevents it.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the range is mapped readable as long as `self` lives. For files, the method's
        // protocol prevents writes. If the protocol fails, the slice shows words of another step.
        // The comparison exists to find such failures.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    /// Returns the bytes, to write. The condition of [`Memory::bytes`] holds here as well.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`. In addition, the range is mapped writable, and `&mut self`
        // excludes other borrows.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }

    /// Returns the memory as words that several processes read and write.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the range is mapped as long as `self` lives. A mapping is aligned for words. The
        // words are accessed only as atomics.
        unsafe {
            std::slice::from_raw_parts(self.at.as_ptr().cast(), self.len / size_of::<AtomicU64>())
        }
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> usize {
        self.at.as_ptr() as usize
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping. All borrows of it have ended.
        let _ = unsafe { munmap(self.at.cast(), self.len) };
    }
}

fn protection(writable: bool) -> ProtFlags {
    match writable {
        true => ProtFlags::PROT_READ | ProtFlags::PROT_WRITE,
        false => ProtFlags::PROT_READ,
    }
}

/// Converts a length for the kernel. A length of 0 becomes 1.
fn size(len: usize) -> NonZeroUsize {
    NonZeroUsize::new(len).unwrap_or(NonZeroUsize::MIN)
}
