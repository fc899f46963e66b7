//! The audit of planes, and what it is allowed to do about strays while versions need slots.

use super::Store;
use crate::pageset::PageSet;
use crate::planes::{Audit, Leaving, Strays};
use std::io;

impl Store {
    /// Compares the memory of planes with what is accounted for.
    pub fn audit(&self) -> io::Result<Audit> {
        self.planes.audit()
    }

    /// Slots whose stray memory is to be given back; `present` are those of the plane that have memory. They must be
    /// punched, and then [`Store::gone`] be told. There are none while versions may need every plane.
    pub fn expel(&mut self, strays: &Strays, present: PageSet) -> Vec<Leaving> {
        match self.has_plane_to_spare() {
            true => self.planes.expel(strays, present),
            false => Vec::new(),
        }
    }

    /// Whether slots of one plane may leave. Each page needs a slot for the next version, one may be
    /// leaving, and one be live memory that is handed over.
    pub(super) fn has_plane_to_spare(&self) -> bool {
        self.slots_in_use().count() + 3 <= self.bounds.versions
    }
}
