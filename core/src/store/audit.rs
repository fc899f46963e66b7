//! Audits the memory of planes, and frees stray memory where versions leave enough frames.

use super::state::Store;
use crate::pageset::PageSet;
use crate::planes::{Audit, Leaving, Strays};
use std::io;

impl Store {
    /// Compares the memory of planes with the account of each.
    pub fn audit(&self) -> io::Result<Audit> {
        self.planes.audit()
    }

    /// Chooses the frames whose stray memory is returned. `present` are the frames of the plane
    /// that have memory. The caller must punch the result, and then call [`Store::gone`]. The
    /// result is empty while versions may need every plane.
    pub fn expel(&mut self, strays: &Strays, present: PageSet) -> Vec<Leaving> {
        match self.has_plane_to_spare() {
            true => self.planes.expel(strays, present),
            false => Vec::new(),
        }
    }

    /// Returns true if memory of one plane's frames may be returned now. Each page needs one frame
    /// for the next version. One more frame may be in the middle of being returned, and one may be
    /// live memory of a handed-over buffer.
    pub(super) fn has_plane_to_spare(&self) -> bool {
        self.slots_in_use().count() + 3 <= self.bounds.versions
    }
}
