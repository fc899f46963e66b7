//! Planes: where the pages of versions are kept, each page in some plane at its own offset.
//!
//! A *slot* is one page of one plane. It is busy while a live version refers to it (I1: then it is never written),
//! and held while it has memory. Free slots that are held are used first: filling them costs a copy, and no fresh page.

mod access;
mod account;
mod audit;
mod gather;
mod leave;
mod lend;
mod memory;
mod patience;
mod place;
mod slots;

pub use audit::{Audit, Strays};
pub use gather::{Gather, Move};
pub use leave::Leaving;
pub use memory::PlaneMemory;
pub use slots::Slots;

use crate::pageset::{ChunkBits, PageSet};
use crate::sys::mem::MapError;
use account::Account;
use patience::Patience;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

struct Plane {
    memory: Arc<PlaneMemory>,
    busy: PageSet,
    account: Account,
    /// Slots that were taken in this window of looks for memory to give back, and in the one before.
    taken: [PageSet; 2],
}

impl Plane {
    /// Those of `want` that can be placed here.
    fn free(&self, chunk: usize, want: &ChunkBits) -> ChunkBits {
        let (busy, leaving) = (self.busy.chunk(chunk), self.account.leaving().chunk(chunk));
        std::array::from_fn(|i| want[i] & !busy[i] & !leaving[i])
    }
}

/// All planes of a region. As many as there can be live versions, so that a free slot always exists for every page.
pub struct Planes {
    planes: Vec<Plane>,
    memory: Arc<[Arc<PlaneMemory>]>,
    page_size: usize,
    /// Planes that ever had memory are the first so many. The one behind them is free as a whole, so no other need be
    /// looked at.
    touched: usize,
    patience: Patience,
}

/// Why the planes could not be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum PlaneError {
    #[error(
        "cannot create a plane of {bytes} bytes: {source}; check the limits on memory and descriptors"
    )]
    Create { bytes: u64, source: io::Error },
    #[error("cannot map a plane: {0}")]
    Map(#[from] MapError),
}

impl Planes {
    /// `count` empty planes for `pages` pages.
    pub fn create(
        name: &str,
        pages: usize,
        page_size: usize,
        count: usize,
    ) -> Result<Self, PlaneError> {
        let make = |i| -> Result<Plane, PlaneError> {
            let name = format!("tcasm-{name}-plane{i}");
            Ok(Plane {
                memory: Arc::new(PlaneMemory::create(&name, pages, page_size)?),
                busy: PageSet::new(pages),
                account: Account::new(pages),
                taken: [PageSet::new(pages), PageSet::new(pages)],
            })
        };
        let planes = (0..count).map(make).collect::<Result<Vec<_>, _>>()?;
        Ok(Planes {
            memory: planes.iter().map(|p| p.memory.clone()).collect(),
            planes,
            page_size,
            touched: 0,
            patience: Patience::default(),
        })
    }

    /// Read-only descriptors of all planes, for observers.
    pub fn read_only(&self) -> io::Result<Vec<OwnedFd>> {
        self.planes.iter().map(|p| p.memory.read_only()).collect()
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Bytes of memory in all planes.
    pub fn held_bytes(&self) -> u64 {
        let pages: usize = self.planes.iter().map(|p| p.account.count()).sum();
        (pages * self.page_size) as u64
    }

    /// The bytes of a page in a plane, to compare with: of a busy slot, which nobody writes.
    pub fn page(&self, plane: usize, page: usize) -> &[u8] {
        let plane = &self.planes[plane];
        debug_assert!(plane.busy.contains(page));
        // SAFETY: busy, so that nobody writes it while `self` is borrowed: freeing it needs `&mut self`.
        unsafe { plane.memory.page(page) }
    }

    /// The memory of all planes, for threads that copy.
    pub fn memory(&self) -> Arc<[Arc<PlaneMemory>]> {
        self.memory.clone()
    }

    /// Copy pages from live memory at `base` to `slots`. After an error some were copied; none is busy.
    ///
    /// # Safety
    /// `base` must be the region's live memory, readable, which nobody writes during the call. No version may refer to the
    /// slots.
    pub unsafe fn copy(&mut self, base: *const u8, slots: &Slots) -> io::Result<()> {
        let fresh = self.hold(slots);
        let (half, mut copied) = (slots.len() / 2, 0);
        for (plane, run) in slots.runs() {
            let pages = copied..copied + run.len();
            copied = pages.end;
            if pages.contains(&half) {
                crate::fault::pass("half-copied");
            }
            let is_fresh = fresh.intersects(plane, &run);
            // SAFETY: the caller's promise; where nothing is fresh all slots are held.
            let done = unsafe { self.planes[plane].memory.copy(base, run, is_fresh) };
            if done.is_err() {
                self.unhold(slots);
                return done;
            }
        }
        Ok(())
    }

    /// Count slots as having memory, which they are about to get. Returns those that have none yet.
    pub fn hold(&mut self, slots: &Slots) -> Slots {
        let mut fresh = Slots::default();
        for (plane, pages) in slots.iter() {
            let new = self.planes[plane].account.enter(pages);
            self.touched = self.touched.max(plane + 1);
            if !new.is_empty() {
                fresh.union(&Slots::of(plane, new));
            }
        }
        self.patience.misses(fresh.len());
        fresh
    }

    /// These slots were to get memory, and have not.
    pub fn forget(&mut self, slots: &Slots) {
        for (plane, pages) in slots.iter() {
            self.planes[plane].account.strike(pages);
        }
    }

    /// Some of these slots may have got memory, some not. What counts as held is written through the mapping, where a lack of
    /// memory is a signal: so none of them may count. (The slots are free: nobody needs what was in them.)
    pub fn unhold(&mut self, slots: &Slots) {
        for (plane, run) in slots.runs() {
            let _ = self.planes[plane].memory.punch(&run);
        }
        self.forget(slots);
    }

    /// These slots are referred to by a version from now on.
    pub fn set_busy(&mut self, slots: &Slots) {
        for (plane, pages) in slots.iter() {
            let plane = &mut self.planes[plane];
            plane.busy.union(pages);
            plane.taken[0].union(pages);
        }
    }

    /// No version refers to these slots any more.
    pub fn set_free(&mut self, slots: &Slots) {
        for (plane, pages) in slots.iter() {
            self.planes[plane].busy.subtract(pages);
        }
    }

    /// Give memory of free slots back, at most `max_pages` of it, but none of `keep`; returns how many pages.
    pub fn trim(&mut self, max_pages: usize, keep: &Slots) -> io::Result<usize> {
        let mut done = 0;
        for plane in (0..self.planes.len()).rev() {
            let mut idle = self.idle(plane);
            keep.of_plane(plane).for_each(|pages| idle.subtract(pages));
            for run in idle.runs() {
                let run = run.start..run.end.min(run.start.saturating_add(max_pages - done));
                if run.is_empty() {
                    break;
                }
                let p = &mut self.planes[plane];
                p.memory.punch(&run)?;
                done += run.len();
                let mut gone = PageSet::new(idle.capacity());
                gone.insert_range(run);
                p.account.strike(&gone);
            }
        }
        Ok(done)
    }

    /// Whether `page` of `plane` is busy: for the tests' cross-check with the page maps.
    pub fn is_busy(&self, plane: usize, page: usize) -> bool {
        self.planes[plane].busy.contains(page)
    }

    /// Pages of a plane.
    pub(crate) fn pages(&self) -> usize {
        self.planes.first().map_or(0, |p| p.busy.capacity())
    }
}
