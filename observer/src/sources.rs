//! Reads pages of planes, to copy them.
//!
//! Each plane that pages are copied from is mapped once more, whole. So a page is read without a
//! system call, and without a page fault if the same frame was read before. The cache mappings do
//! not serve for this, because parts of them are missing for a moment while page tables move.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use tcasm_core::sys::mem::{MapError, Mapping};
use tcasm_core::sys::object::read_at;

/// The mappings of planes from which pages are copied.
#[derive(Debug)]
pub(crate) struct Sources {
    /// The mapping of each plane, by the number of the plane. `None` if it could not be mapped.
    maps: Vec<OnceLock<Option<Mapping>>>,
    /// Bytes of a plane.
    bytes: usize,
}

impl Sources {
    /// Returns the sources of `planes` planes of `bytes` bytes each. None is mapped yet.
    pub(crate) fn new(planes: usize, bytes: usize) -> Self {
        Sources {
            maps: (0..planes).map(|_| OnceLock::new()).collect(),
            bytes,
        }
    }

    /// Copies bytes of a plane, from byte `at` on. They must be pages of a pinned version: nobody
    /// writes these, and the plane has memory for them. (A hole that is read gets memory.)
    #[allow(unsafe_code)]
    pub(crate) fn copy(
        &self,
        (plane, fd): (usize, &OwnedFd),
        at: usize,
        out: &mut [u8],
    ) -> io::Result<()> {
        let map = self.maps[plane].get_or_init(|| map(fd, self.bytes).ok());
        let Some(map) = map else {
            return read_at(fd, out, at as u64); // the process has too many mappings
        };
        assert!(at + out.len() <= map.len(), "pages lie in the region");
        // SAFETY:
        // - The range is inside the mapping, which is readable. The plane cannot shrink.
        // - By the caller's promise nobody writes the pages meanwhile.
        // - `out` is not part of the mapping, which hands out no slices.
        unsafe { std::ptr::copy_nonoverlapping(map.ptr().add(at), out.as_mut_ptr(), out.len()) };
        Ok(())
    }
}

/// Maps a plane for reading.
fn map(fd: &OwnedFd, bytes: usize) -> Result<Mapping, MapError> {
    let map = Mapping::shared(fd.as_fd(), bytes, false)?;
    map.dont_fork_or_dump()?;
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::sys::object::Object;

    #[test]
    #[allow(unsafe_code)]
    fn pages_are_copied_from_their_plane_with_and_without_a_mapping() {
        let fill = |value: u8| {
            let object = Object::create("tcasm-test", 8192).unwrap();
            let bytes = [value; 8192];
            // SAFETY: `bytes` is a local array of that length, which nobody writes.
            unsafe { object.write_from(bytes.as_ptr(), 8192, 0) }.unwrap();
            object.read_only().unwrap()
        };
        let (planes, sources) = ([fill(1), fill(2)], Sources::new(2, 8192));
        sources.maps[1].set(None).unwrap();
        for (plane, fd) in planes.iter().enumerate() {
            let mut page = [0; 4096];
            sources.copy((plane, fd), 4096, &mut page).unwrap();
            assert_eq!(page, [plane as u8 + 1; 4096]);
        }
        assert!(matches!(sources.maps[0].get(), Some(Some(_))));
    }
}
