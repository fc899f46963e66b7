//! A window's own memory, for chunks that are too fragmented to be mapped.
//!
//! It is an object of the same size as a plane. It is mapped twice: writable here, and read-only in
//! the window. So a copy is renewed page by page without a change of mappings, and a window is
//! never writable.

use crate::error::ViewError;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tcasm_core::format::pagemap::Run;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::object::{Object, read_at};

/// Memory for the copies of one window. It is sparse: a chunk that is not copied takes none.
#[derive(Debug)]
pub(crate) struct Copies {
    object: Object,
    map: Mapping,
}

impl Copies {
    /// Creates the memory for a window of `bytes` bytes over the region `name`.
    pub(crate) fn create(name: &str, bytes: usize) -> Result<Self, ViewError> {
        let object = Object::create(&format!("tcasm-{name}-copies"), bytes as u64)
            .map_err(|source| ViewError::Copies { bytes, source })?;
        let map = Mapping::shared(object.as_fd(), bytes, true)?;
        map.dont_fork_or_dump()?;
        Ok(Copies { object, map })
    }

    /// Returns the object, to be mapped where a window shows a copy.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.object.as_fd()
    }

    /// Allocates memory for `at..at + len` at once, which costs less than page by page.
    pub(crate) fn populate(&self, at: usize, len: usize) {
        // If this fails, each page takes a fault when it is filled.
        let _ = self.map.populate(at, len);
    }

    /// Copies the pages of `run` from their plane.
    #[allow(unsafe_code)]
    pub(crate) fn fill(
        &mut self,
        run: &Run,
        page_size: usize,
        planes: &[OwnedFd],
    ) -> Result<(), ViewError> {
        let (at, len) = (run.pages.start * page_size, run.pages.len() * page_size);
        assert!(at + len <= self.map.len(), "runs lie in the region");
        // SAFETY: the range is inside the mapping, which is writable and whose object cannot
        // shrink. `&mut self` belongs to the owner of the window, so nothing is borrowed from the
        // part of the window that shows it.
        let part = unsafe { std::slice::from_raw_parts_mut(self.map.ptr().add(at), len) };
        match run.plane() {
            Some(plane) => read_at(&planes[plane], part, at as u64)?,
            None => part.fill(0),
        }
        Ok(())
    }

    /// Returns the memory of `at..at + len` to the system. If this fails, the memory stays
    /// allocated until the window is dropped.
    pub(crate) fn release(&self, at: usize, len: usize) {
        let _ = self.object.punch(at as u64..(at + len) as u64);
    }
}
