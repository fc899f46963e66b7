//! A window's own memory, for chunks that are too fragmented to be mapped.
//!
//! It is an object of the same shape as a plane, mapped twice: here, to write, and in the window, to read. So a copy is
//! renewed page by page without changing any mapping, and what a window shows is never writable.

use crate::error::ViewError;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tcasm_core::pagemap::Run;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::object::{Object, read_at};

/// Memory for the copies of one window. Sparse: a chunk that is not copied takes none.
#[derive(Debug)]
pub(crate) struct Copies {
    object: Object,
    map: Mapping,
}

impl Copies {
    /// Memory for a window of `bytes` bytes over the region `name`.
    pub(crate) fn create(name: &str, bytes: usize) -> Result<Self, ViewError> {
        let object = Object::create(&format!("tcasm-{name}-copies"), bytes as u64)
            .map_err(|source| ViewError::Copies { bytes, source })?;
        let map = Mapping::shared(object.as_fd(), bytes, true)?;
        map.dont_fork_or_dump()?;
        Ok(Copies { object, map })
    }

    /// The object, to be mapped where a window shows a copy.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.object.as_fd()
    }

    /// Get memory for `at..at+len`, all at once: page by page it costs more.
    pub(crate) fn populate(&self, at: usize, len: usize) {
        // Pages that are not mapped here take a fault each when they are filled.
        let _ = self.map.populate(at, len);
    }

    /// Copy the pages of `run` from their plane.
    #[allow(unsafe_code)]
    pub(crate) fn fill(
        &mut self,
        run: &Run,
        page_size: usize,
        planes: &[OwnedFd],
    ) -> Result<(), ViewError> {
        let (at, len) = (run.pages.start * page_size, run.pages.len() * page_size);
        assert!(at + len <= self.map.len(), "runs lie in the region");
        // SAFETY: inside the mapping, which is writable and whose object cannot shrink; `&mut self` is that of the
        // window's owner, so nobody has borrowed what the window shows of it.
        let part = unsafe { std::slice::from_raw_parts_mut(self.map.ptr().add(at), len) };
        match run.plane() {
            Some(plane) => read_at(&planes[plane], part, at as u64)?,
            None => part.fill(0),
        }
        Ok(())
    }

    /// Give the memory of `at..at+len` back. A failure leaves it held until the window goes.
    pub(crate) fn release(&self, at: usize, len: usize) {
        let _ = self.object.punch(at as u64..(at + len) as u64);
    }
}
