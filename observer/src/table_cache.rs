//! The page-table cache: keeps the page tables of planes while no window uses them.
//!
//! Each plane has one *cache mapping*: a mapping of the whole plane, at the plane's own offsets,
//! which nobody reads. Pages move between a cache mapping and a window together with their page
//! tables, so a page that was read once is never faulted in again.
//!
//! Both sides stay mapped to the right object, whatever moves. So the cache needs no record of its
//! contents, and cannot show wrong pages. For each range, a cache mapping has either page tables or
//! none. If it has none, the window that takes the range faults its pages in. This happens at the
//! first use of a plane, and when another window has taken the page tables before. A window that
//! puts a range back replaces the page tables that the cache mapping has there.

use std::os::fd::{AsFd, OwnedFd};
use tcasm_core::sys::mem::{MapError, Mapping};
use tcasm_core::sys::relocate::relocate;

/// The page-table cache of a session.
#[derive(Debug, Default)]
pub(crate) struct TableCache {
    /// The cache mapping of each plane, by the number of the plane.
    caches: Vec<Option<Mapping>>,
    /// True if a move has failed: the kernel cannot move page tables, or the process has too many
    /// mappings. From then on windows map everything anew.
    given_up: bool,
}

impl TableCache {
    /// Moves pages `at..at + len` of plane number `plane` from the cache mapping into `range`, with
    /// their page tables. Returns false if there is no cache mapping or the move failed. The caller
    /// must then map that part of `range` in another way.
    ///
    /// # Safety
    /// - Nothing borrowed from that part of `range` is alive.
    /// - `range` is as long as a plane.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn take(
        &mut self,
        plane: usize,
        range: &Mapping,
        at: usize,
        len: usize,
    ) -> bool {
        let Some(Some(cache)) = self.caches.get(plane) else {
            return false;
        };
        let (from, to) = (cache.ptr().wrapping_add(at), range.ptr().wrapping_add(at));
        // SAFETY: nothing is ever borrowed from a cache mapping. Its part `at..at + len` is one
        // mapping: it was never moved, or was moved in from a window. The caller guarantees the
        // rest.
        let moved = unsafe { relocate(from, to, len) };
        self.note(moved)
    }

    /// Moves the pages `at..at + len` of `range` back into the cache mapping of the plane, with
    /// their page tables. `range` must show those pages of `plane`.
    ///
    /// # Safety
    /// As for [`TableCache::take`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn put_back(
        &mut self,
        (plane, fd): (usize, &OwnedFd),
        range: &Mapping,
        at: usize,
        len: usize,
    ) {
        if self.given_up {
            return;
        }
        let moved = self.cache_of(plane, fd, range.len()).and_then(|cache| {
            let (from, to) = (range.ptr().wrapping_add(at), cache.ptr().wrapping_add(at));
            // SAFETY: nothing is ever borrowed from a cache mapping. The caller guarantees the
            // rest.
            unsafe { relocate(from, to, len) }
        });
        self.note(moved);
    }

    /// Returns the cache mapping of a plane, and creates it if there is none.
    fn cache_of(&mut self, plane: usize, fd: &OwnedFd, len: usize) -> Result<&Mapping, MapError> {
        if self.caches.len() <= plane {
            self.caches.resize_with(plane + 1, || None);
        }
        let cache = &mut self.caches[plane];
        if cache.is_none() {
            let map = Mapping::shared(fd.as_fd(), len, false)?;
            // Pages keep this setting when they move between the cache mapping and a window.
            map.dont_fork_or_dump()?;
            *cache = Some(map);
        }
        Ok(cache.as_ref().expect("just made"))
    }

    /// Records the result of a move. After a failure a cache mapping may have lost its mapping, so
    /// no cache mapping is used again. Returns true if the move succeeded.
    fn note(&mut self, moved: Result<(), MapError>) -> bool {
        if moved.is_err() {
            self.caches.clear();
            self.given_up = true;
        }
        moved.is_ok()
    }
}
