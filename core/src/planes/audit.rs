//! The audit: memory of planes as the kernel counts it, compared with the account.
//!
//! Whoever has a descriptor of a plane can allocate memory in it, by reading a hole through a mapping. The
//! producer allocates only slots that its account knows, and enters them first. So what the kernel has
//! allocated beyond the account is *stray*: it belongs to free slots, and is given back like that of others.

use super::{Leaving, PlaneMemory, Planes};
use crate::pageset::PageSet;
use std::io;
use std::sync::Arc;

/// A plane with more memory than its account knows.
#[derive(Debug)]
pub struct Strays {
    plane: usize,
    memory: Arc<PlaneMemory>,
    /// How many pages more.
    pages: usize,
}

impl Strays {
    /// Slots of the plane that have memory. Takes as long as the plane has extents; needs no lock.
    pub fn present(&self) -> io::Result<PageSet> {
        self.memory.present()
    }
}

/// What an audit has found.
#[derive(Debug, Default)]
pub struct Audit {
    /// Pages that the kernel has allocated in all planes.
    pub allocated: usize,
    /// Pages that the account knows of.
    pub accounted: usize,
    /// Planes with more than that.
    pub strays: Vec<Strays>,
}

impl Audit {
    /// Pages that are stray.
    pub fn stray_pages(&self) -> usize {
        self.strays.iter().map(|s| s.pages).sum()
    }
}

impl Planes {
    /// Compares each plane's memory with its account. While pages are captured, some count that have no memory yet.
    pub fn audit(&self) -> io::Result<Audit> {
        let mut audit = Audit::default();
        for (plane, p) in self.planes.iter().enumerate() {
            let (allocated, accounted) = (p.memory.allocated()?, p.account.count());
            audit.allocated += allocated;
            audit.accounted += accounted;
            if allocated > accounted {
                audit.strays.push(Strays {
                    plane,
                    memory: p.memory.clone(),
                    pages: allocated - accounted,
                });
            }
        }
        Ok(audit)
    }

    /// Keeps everybody from slots among `present` that have memory and should have none, until it is
    /// given back. They are free, and placing a page there would need fresh memory, so nobody misses them.
    pub fn expel(&mut self, strays: &Strays, mut present: PageSet) -> Vec<Leaving> {
        let p = &self.planes[strays.plane];
        present.subtract(p.account.held());
        present.subtract(p.account.leaving());
        let runs: Vec<_> = present.runs().collect();
        runs.into_iter()
            .map(|pages| self.begin(strays.plane, pages))
            .collect()
    }
}
