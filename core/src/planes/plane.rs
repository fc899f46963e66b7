//! One plane, and all planes of a region: which frames are busy, and which have memory.

use super::account::Account;
use super::frames::Frames;
use super::memory::{PlaneError, PlaneMemory};
use super::nodes::Nodes;
use super::retention::Retention;
use crate::pageset::{ChunkBits, PageSet};
use crate::segments::Segments;
use crate::sys::copy::Stores;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// One plane, and what its frames are used for.
pub(super) struct Plane {
    pub(super) memory: Arc<PlaneMemory>,
    pub(super) busy: PageSet,
    pub(super) account: Account,
    /// Frames that were taken in this window of scans for memory to return, and in the window
    /// before.
    pub(super) taken: [PageSet; 2],
}

impl Plane {
    /// Returns those of the pages `want` that can be placed in this plane.
    pub(super) fn free(&self, chunk: usize, want: &ChunkBits) -> ChunkBits {
        let (busy, leaving) = (self.busy.chunk(chunk), self.account.leaving().chunk(chunk));
        std::array::from_fn(|i| want[i] & !busy[i] & !leaving[i])
    }
}

/// All planes of a region. There are as many as there can be live versions, so every page always
/// has a free frame.
pub struct Planes {
    pub(super) planes: Vec<Plane>,
    memory: Arc<[Arc<PlaneMemory>]>,
    pub(super) page_size: usize,
    /// The number of planes that ever had memory; these are the first ones. The plane behind them
    /// is free as a whole, so none of the others needs a look.
    pub(super) touched: usize,
    pub(super) retention: Retention,
    /// The plane and the number of a chunk that is being gathered into a huge page.
    pub(super) becoming: Option<(usize, usize)>,
    /// True if frames may consist of huge pages.
    pub(super) huge: bool,
    /// The nodes of memory. `None` on a machine with one node.
    pub(super) nodes: Option<Box<Nodes>>,
}

impl Planes {
    /// Creates `count` empty planes for `pages` pages.
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
            retention: Retention::default(),
            becoming: None,
            huge: false,
            nodes: None,
        })
    }

    /// Returns read-only descriptors of all planes, for observers.
    pub fn read_only(&self) -> io::Result<Vec<OwnedFd>> {
        self.planes.iter().map(|p| p.memory.read_only()).collect()
    }

    /// Returns the size of a page in bytes.
    pub fn page_size(&self) -> usize {
        self.page_size
    }

    /// Returns the bytes of memory that all planes hold.
    pub fn held_bytes(&self) -> u64 {
        let pages: usize = self.planes.iter().map(|p| p.account.count()).sum();
        (pages * self.page_size) as u64
    }

    /// Returns the bytes of a busy frame. Nobody writes a busy frame, so they can be compared with
    /// others.
    pub fn page(&self, plane: usize, page: usize) -> &[u8] {
        let plane = &self.planes[plane];
        debug_assert!(plane.busy.contains(page));
        // SAFETY: the frame is busy, so nobody writes it. It stays busy while `self` is borrowed,
        // because freeing it needs `&mut self`.
        unsafe { plane.memory.page(page) }
    }

    /// Returns the memory of all planes, for threads that copy.
    pub fn memory(&self) -> Arc<[Arc<PlaneMemory>]> {
        self.memory.clone()
    }

    /// Copies pages of live memory to `frames`. After an error some pages were copied, and none of
    /// the frames is busy or held.
    ///
    /// # Safety
    /// The pages must be readable, unless they are adopted, and nobody may write them during the
    /// call. No version may refer to the frames.
    pub unsafe fn copy(&mut self, live: &Segments, frames: &Frames) -> io::Result<()> {
        let fresh = self.hold(frames);
        let (half, mut copied) = (frames.len() / 2, 0);
        for (plane, run) in frames.runs() {
            let pages = copied..copied + run.len();
            copied = pages.end;
            if pages.contains(&half) {
                crate::testing::fault::pass("half-copied");
            }
            let is_fresh = fresh.intersects(plane, &run);
            // SAFETY: the caller promises that live memory is not written and that no version
            // refers to the frames. Where `is_fresh` is false, all frames of the run are held.
            let done = unsafe {
                self.planes[plane]
                    .memory
                    .copy(live, run, is_fresh, Stores::Cached)
            };
            if done.is_err() {
                self.unhold(frames);
                return done;
            }
        }
        Ok(())
    }

    /// Counts frames as held before they get memory. Returns those that have none yet, which will
    /// get memory on the nodes of their live pages.
    pub fn hold(&mut self, frames: &Frames) -> Frames {
        let mut fresh = Frames::default();
        for (plane, pages) in frames.iter() {
            let new = self.planes[plane].account.enter(pages);
            self.touched = self.touched.max(plane + 1);
            if !new.is_empty() {
                fresh.union(&Frames::of(plane, new));
            }
        }
        self.retention.misses(fresh.len());
        self.bind(&fresh);
        fresh
    }

    /// Counts frames as not held, because they were to get memory and did not.
    pub fn forget(&mut self, frames: &Frames) {
        for (plane, pages) in frames.iter() {
            self.planes[plane].account.strike(pages);
        }
    }

    /// Returns the memory of frames to the system after an allocation failed half-way, and counts
    /// none of them as held. Held frames are written through the mapping, where a lack of memory is
    /// a signal, so a frame must not count when it may have no memory. The frames are free, so
    /// their contents are not needed. Frames whose memory somebody uses keep it, and stay held.
    pub fn unhold(&mut self, frames: &Frames) {
        for (plane, pages) in frames.iter() {
            let p = &mut self.planes[plane];
            let mut gone = pages.clone();
            for run in pages.runs() {
                if let Err(error) = p.memory.punch(&run)
                    && error.is_busy()
                {
                    let kept = error.kept.into_iter();
                    kept.for_each(|pages| gone.remove_range(pages));
                }
            }
            p.account.strike(&gone);
        }
    }

    /// Marks frames as busy, because a version refers to them from now on.
    pub fn set_busy(&mut self, frames: &Frames) {
        for (plane, pages) in frames.iter() {
            let plane = &mut self.planes[plane];
            plane.busy.union(pages);
            plane.taken[0].union(pages);
        }
    }

    /// Marks frames as free, because no version refers to them any more.
    pub fn set_free(&mut self, frames: &Frames) {
        for (plane, pages) in frames.iter() {
            self.planes[plane].busy.subtract(pages);
        }
    }

    /// Returns memory of free frames to the system: at most `max_pages` pages, and none of the
    /// frames `keep`. The result is the number of pages returned.
    pub fn trim(&mut self, max_pages: usize, keep: &Frames) -> io::Result<usize> {
        let mut done = 0;
        for plane in (0..self.planes.len()).rev() {
            let mut idle = self.idle(plane);
            keep.of_plane(plane).for_each(|pages| idle.subtract(pages));
            for run in idle.runs() {
                let run = run.start..run.end.min(run.start.saturating_add(max_pages - done));
                if run.is_empty() {
                    break;
                }
                for part in self.planes[plane].memory.parts(run) {
                    done += part.len();
                    let leaving = self.begin(plane, part);
                    let returned = leaving.punch();
                    let kept = returned.as_ref().err().map_or(&[][..], |error| &error.kept);
                    done -= kept.iter().map(|pages| pages.len()).sum::<usize>();
                    self.gone(&leaving, kept);
                    if let Err(error) = returned
                        && !error.is_busy()
                    {
                        return Err(error.why);
                    }
                }
            }
        }
        Ok(done)
    }

    /// Returns true if `page` of `plane` is busy. Tests compare this with the page maps.
    pub fn is_busy(&self, plane: usize, page: usize) -> bool {
        self.planes[plane].busy.contains(page)
    }

    /// Returns the number of pages of a plane.
    pub(crate) fn pages(&self) -> usize {
        self.planes.first().map_or(0, |p| p.busy.capacity())
    }
}
