//! Memory of a file that peers can map.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tcasm_core::sys::mem::{Mapping, page_size};
use tcasm_core::sys::object::Object;

/// Memory that this process and its peers share. It consists of zeros at first. It can be written
/// by others at any time, so it is accessed as atomics, or through raw pointers.
#[derive(Debug)]
pub struct SharedMemory {
    object: Object,
    mapping: Mapping,
    len: usize,
}

impl SharedMemory {
    /// Creates `len` bytes of memory (at least one).
    pub fn create(len: usize) -> io::Result<Arc<Self>> {
        let whole = len.max(1).checked_next_multiple_of(page_size());
        let whole = whole.ok_or_else(|| io::Error::other("more bytes than addresses"))?;
        let object = Object::create("tcasm-transfer", whole as u64)?;
        let mapping = Mapping::shared(object.as_fd(), whole, true).map_err(io::Error::other)?;
        let len = len.max(1);
        Ok(Arc::new(SharedMemory {
            object,
            mapping,
            len,
        }))
    }

    /// Returns the first address.
    pub fn addr(&self) -> usize {
        self.mapping.addr()
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns false: there is at least one byte.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns a pointer to the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.mapping.ptr()
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[AtomicU8] {
        atomic_bytes(&self.mapping, 0, self.len).unwrap_or(&[])
    }

    /// Copies `bytes` to the memory at `at`.
    ///
    /// # Panics
    /// Panics if they do not fit.
    pub fn write(&self, at: usize, bytes: &[u8]) {
        let target = &self.bytes()[at..at + bytes.len()];
        for (to, from) in target.iter().zip(bytes) {
            to.store(*from, Ordering::Relaxed);
        }
    }

    /// Returns a descriptor of the file, to read it only or also to write it.
    pub(crate) fn file(&self, writes: bool) -> io::Result<OwnedFd> {
        match writes {
            true => self.object.as_fd().try_clone_to_owned(),
            false => self.object.read_only(),
        }
    }
}

/// Returns `len` bytes of a mapping of a whole sealed object, if they are inside.
#[allow(unsafe_code)]
pub(crate) fn atomic_bytes(mapping: &Mapping, at: usize, len: usize) -> Option<&[AtomicU8]> {
    if at.checked_add(len)? > mapping.len() {
        return None;
    }
    // SAFETY: the range lies in the mapping, as just checked, which lives as long as the slice.
    // `Mapping::shared` has made the mapping, of an object that is sealed against shrinking and at
    // least as long, so it is readable. Others may write it, which atomics allow. `Mapped`, whose
    // mapping is for reading only, only loads.
    Some(unsafe { slice::from_raw_parts(mapping.ptr().add(at).cast(), len) })
}
