//! The shelf: page tables of planes, kept while no window shows them.
//!
//! Each plane has a *home*: a mapping of the whole plane, at the plane's own offsets, which nobody reads. Moving pages
//! between a home and a window moves their page tables along, so that what was read once is never faulted in again; both
//! stay mapped, and to the right object, whatever moves. So the shelf needs no record of what is where, and cannot show
//! anything wrong: at home there are either the page tables of a range, or none, and then a window that takes it faults
//! its pages in, as it does when another window has taken them before. A window that comes home leaves its page tables in
//! place of what is there.

use std::os::fd::{AsFd, OwnedFd};
use tcasm_core::sys::mem::{MapError, Mapping};
use tcasm_core::sys::relocate::relocate;

/// The homes of a session's planes.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    homes: Vec<Option<Mapping>>,
    /// Something failed: this kernel cannot move page tables, or the process is short of mappings. All is mapped afresh.
    given_up: bool,
}

impl Shelf {
    /// Show pages `at..at+len` of plane number `plane` in `range`, with the page tables that are at home. False: there are
    /// none, and `range` must be mapped there in another way.
    ///
    /// # Safety
    /// Nothing borrowed from that part of `range` may be alive, which must be as long as a plane.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn lend(
        &mut self,
        plane: usize,
        range: &Mapping,
        at: usize,
        len: usize,
    ) -> bool {
        let Some(Some(home)) = self.homes.get(plane) else {
            return false;
        };
        let (from, to) = (home.ptr().wrapping_add(at), range.ptr().wrapping_add(at));
        // SAFETY: a home is never borrowed from, and one mapping, whose part `at..at+len` was moved in from a window
        // (or never moved); the rest is the caller's promise.
        let moved = unsafe { relocate(from, to, len) };
        self.look(moved)
    }

    /// Take the page tables of `at..at+len` of `range` home, where it shows those pages of the plane `plane`.
    ///
    /// # Safety
    /// As for [`Shelf::lend`].
    #[allow(unsafe_code)]
    pub(crate) unsafe fn bring_home(
        &mut self,
        (plane, fd): (usize, &OwnedFd),
        range: &Mapping,
        at: usize,
        len: usize,
    ) {
        if self.given_up {
            return;
        }
        let moved = self.home(plane, fd, range.len()).and_then(|home| {
            let (from, to) = (range.ptr().wrapping_add(at), home.ptr().wrapping_add(at));
            // SAFETY: a home is never borrowed from; the rest is the caller's promise.
            unsafe { relocate(from, to, len) }
        });
        self.look(moved);
    }

    fn home(&mut self, plane: usize, fd: &OwnedFd, len: usize) -> Result<&Mapping, MapError> {
        if self.homes.len() <= plane {
            self.homes.resize_with(plane + 1, || None);
        }
        let home = &mut self.homes[plane];
        if home.is_none() {
            let map = Mapping::shared(fd.as_fd(), len, false)?;
            // What moves between home and window takes this along.
            map.dont_fork_or_dump()?;
            *home = Some(map);
        }
        Ok(home.as_ref().expect("just made"))
    }

    /// After a failure a home may have lost its mapping: none is used again.
    fn look(&mut self, moved: Result<(), MapError>) -> bool {
        if moved.is_err() {
            self.homes.clear();
            self.given_up = true;
        }
        moved.is_ok()
    }
}
