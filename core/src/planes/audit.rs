//! The audit compares the memory of planes, as the kernel counts it, with the account.
//!
//! A process that has a descriptor of a plane can allocate memory in it, by reading a hole through
//! a mapping. The producer itself allocates only frames that it has entered in its account before.
//! So memory beyond the account is *stray* memory. It belongs to free frames, and is returned like
//! theirs.

use super::leave::Leaving;
use super::memory::PlaneMemory;
use super::plane::Planes;
use crate::pageset::PageSet;
use std::io;
use std::sync::Arc;

/// A plane that has more memory than its account says.
#[derive(Debug)]
pub struct Strays {
    plane: usize,
    memory: Arc<PlaneMemory>,
    /// The number of pages beyond the account.
    pages: usize,
}

impl Strays {
    /// Returns the frames of the plane that have memory. The time that this takes grows with the
    /// number of extents. It needs no lock.
    pub fn present(&self) -> io::Result<PageSet> {
        self.memory.present()
    }
}

/// The result of an audit.
#[derive(Debug, Default)]
pub struct Audit {
    /// The number of pages that the kernel has allocated in all planes.
    pub allocated: usize,
    /// The number of pages that the accounts have.
    pub accounted: usize,
    /// The planes that have stray memory.
    pub strays: Vec<Strays>,
}

impl Audit {
    /// Returns the number of stray pages.
    pub fn stray_pages(&self) -> usize {
        self.strays.iter().map(|s| s.pages).sum()
    }
}

impl Planes {
    /// Compares the memory of each plane with its account. While a capture is running, some pages
    /// are accounted for that have no memory yet.
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

    /// Reserves those frames of `present` that have memory and should have none, until it was
    /// returned. They are free, and to place a page there would need fresh memory, so no capture
    /// lacks them.
    pub fn expel(&mut self, strays: &Strays, mut present: PageSet) -> Vec<Leaving> {
        let p = &self.planes[strays.plane];
        present.subtract(p.account.held());
        present.subtract(p.account.leaving());
        let parts = present.runs().flat_map(|pages| p.memory.parts(pages));
        let parts: Vec<_> = parts.collect();
        parts
            .into_iter()
            .map(|pages| self.begin(strays.plane, pages))
            .collect()
    }
}
