//! Planes: where the pages of versions are kept, each page in some plane at its own offset.
//!
//! A *slot* is one page of one plane. It is busy while a live version refers to it (I1: then it is never written),
//! and held while it has memory. Free slots that are held are used first: filling them costs a copy, and no fresh page.

mod leave;
mod lend;
mod memory;

pub use leave::Leaving;
pub use memory::PlaneMemory;

use crate::pagemap::{Code, ZERO};
use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS, ChunkBits, PageSet, runs_of};
use crate::sabotage::{Guard, off};
use crate::sys::mem::MapError;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

struct Plane {
    memory: Arc<PlaneMemory>,
    busy: PageSet,
    held: PageSet,
    /// Free slots whose memory is being given back: nothing may be placed there.
    leaving: PageSet,
    /// Slots that were taken since the last look for memory to give back, and between that and the one before.
    taken: [PageSet; 2],
}

impl Plane {
    /// Those of `want` that can be placed here.
    fn free(&self, chunk: usize, want: &ChunkBits) -> ChunkBits {
        let (busy, leaving) = (self.busy.chunk(chunk), self.leaving.chunk(chunk));
        std::array::from_fn(|i| want[i] & !busy[i] & !leaving[i])
    }
}

/// Where some pages of a chunk are to be captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The chunk.
    pub chunk: usize,
    /// The plane.
    pub plane: usize,
    /// The pages.
    pub bits: ChunkBits,
}

/// All planes of a region. As many as there can be live versions, so that a free slot always exists for every page.
pub struct Planes {
    planes: Vec<Plane>,
    page_size: usize,
    held_pages: usize,
    /// Planes that ever had memory are the first so many. The one behind them is free as a whole, so no other need be
    /// looked at.
    touched: usize,
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
                held: PageSet::new(pages),
                leaving: PageSet::new(pages),
                taken: [PageSet::new(pages), PageSet::new(pages)],
            })
        };
        let planes = (0..count).map(make).collect::<Result<_, _>>()?;
        Ok(Planes {
            planes,
            page_size,
            held_pages: 0,
            touched: 0,
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
        (self.held_pages * self.page_size) as u64
    }

    /// The bytes of a page in a plane, to compare with: of a busy slot, which nobody writes.
    pub fn page(&self, plane: usize, page: usize) -> &[u8] {
        let plane = &self.planes[plane];
        debug_assert!(plane.busy.contains(page));
        // SAFETY: busy, so that nobody writes it while `self` is borrowed: freeing it needs `&mut self`.
        unsafe { plane.memory.page(page) }
    }

    /// The memory of all planes, for threads that copy.
    pub fn memory(&self) -> Vec<Arc<PlaneMemory>> {
        self.planes.iter().map(|p| p.memory.clone()).collect()
    }

    /// Find slots for the pages `want` of `chunk`. Few pages go first to slots that have memory: a fresh page costs several
    /// times its copy. Many go first to the plane that takes most of them, so that what is written densely lies in one run
    /// again, however it was scattered before.
    pub fn place(&self, chunk: usize, want: &ChunkBits, out: &mut Vec<Placement>) {
        let dense = count(want) as usize >= CHUNK_PAGES / 2;
        let mut left = *want;
        while left.iter().any(|w| *w != 0) {
            let (plane, bits) = self.best(chunk, &left, dense);
            if bits.iter().all(|w| *w == 0) {
                // One slot per version and page exists, so this cannot be; were it so, looping would hang the simulation.
                unreachable!(
                    "no free slot for pages of chunk {chunk}: more live versions than planes"
                );
            }
            left.iter_mut().zip(&bits).for_each(|(l, b)| *l &= !b);
            out.push(Placement { chunk, plane, bits });
        }
    }

    fn best(&self, chunk: usize, want: &ChunkBits, dense: bool) -> (usize, ChunkBits) {
        let free = |p: &Plane| -> ChunkBits {
            if off(Guard::SlotInUse) {
                return *want;
            }
            p.free(chunk, want)
        };
        let score = |p: &Plane| {
            let (free, held) = (free(p), p.held.chunk(chunk));
            let warm: ChunkBits = std::array::from_fn(|i| free[i] & held[i]);
            let (free, warm) = (count(&free), count(&warm));
            if dense { (free, warm) } else { (warm, free) }
        };
        // max_by_key takes the last of equals: reversed, the lowest plane, so that neighbours end up together.
        let best = (0..self.planes.len().min(self.touched + 1))
            .rev()
            .max_by_key(|i| score(&self.planes[*i]))
            .unwrap_or(0);
        (best, free(&self.planes[best]))
    }

    /// How many pages of fresh memory the placements need.
    pub fn fresh_pages(&self, placements: &[Placement]) -> usize {
        let fresh = |p: &Placement| -> usize {
            let held = self.planes[p.plane].held.chunk(p.chunk);
            (0..CHUNK_WORDS)
                .map(|i| (p.bits[i] & !held[i]).count_ones() as usize)
                .sum()
        };
        placements.iter().map(fresh).sum()
    }

    /// Copy the pages of `placements` from live memory at `base`. After an error some were copied; none is busy.
    ///
    /// # Safety
    /// `base` must be the region's live memory, readable, which nobody writes during the call.
    pub unsafe fn copy(&mut self, base: *const u8, placements: &[Placement]) -> io::Result<()> {
        let mut run: Option<(usize, Range<usize>)> = None;
        let half = placements.len() / 2;
        for (i, p) in placements.iter().enumerate() {
            if i == half {
                crate::fault::pass("half-copied");
            }
            for r in runs_of(&p.bits) {
                let pages = p.chunk * CHUNK_PAGES + r.start..p.chunk * CHUNK_PAGES + r.end;
                match &mut run {
                    Some((plane, last)) if *plane == p.plane && last.end == pages.start => {
                        last.end = pages.end
                    }
                    _ => {
                        if let Some((plane, pages)) = run.replace((p.plane, pages)) {
                            // SAFETY: the caller's promise.
                            unsafe { self.copy_run(base, plane, pages)? };
                        }
                    }
                }
            }
        }
        match run {
            // SAFETY: the caller's promise.
            Some((plane, pages)) => unsafe { self.copy_run(base, plane, pages) },
            None => Ok(()),
        }
    }

    /// # Safety
    /// As for [`Planes::copy`].
    unsafe fn copy_run(
        &mut self,
        base: *const u8,
        plane: usize,
        pages: Range<usize>,
    ) -> io::Result<()> {
        let fresh = self.hold(plane, pages.clone());
        // SAFETY: the caller's promise; the slots are not busy, so no version refers to them, and where nothing is fresh all
        // are held.
        let copied = unsafe { self.planes[plane].memory.copy(base, pages.clone(), fresh) };
        if copied.is_err() {
            self.unhold(plane, pages);
        }
        copied
    }

    /// Count slots as having memory, which they are about to get. True: some have none yet.
    pub fn hold(&mut self, plane: usize, pages: Range<usize>) -> bool {
        let p = &mut self.planes[plane];
        let fresh = pages.len() - p.held.count_in(pages.clone());
        p.held.insert_range(pages);
        self.held_pages += fresh;
        self.touched = self.touched.max(plane + 1);
        fresh != 0
    }

    /// Some of these slots may have got memory, some not. What counts as held is written through the mapping, where a lack of
    /// memory is a signal: so none of them may count. (The slots are free: nobody needs what was in them.)
    pub fn unhold(&mut self, plane: usize, pages: Range<usize>) {
        let p = &mut self.planes[plane];
        let _ = p.memory.punch(&pages);
        self.held_pages -= p.held.count_in(pages.clone());
        p.held.remove_range(pages);
    }

    /// The slots of `placements` are referred to by a version from now on.
    pub fn set_busy(&mut self, placements: &[Placement]) {
        for p in placements {
            let plane = &mut self.planes[p.plane];
            for set in [&mut plane.busy, &mut plane.taken[0]] {
                let words = set.chunk_mut(p.chunk);
                words.iter_mut().zip(&p.bits).for_each(|(w, n)| *w |= n);
            }
        }
    }

    /// No version refers to these slots of a chunk any more, by the code of their plane.
    pub fn free_chunk(&mut self, chunk: usize, code: Code, bits: &ChunkBits) {
        if code != ZERO {
            let busy = self.planes[usize::from(code) - 1].busy.chunk_mut(chunk);
            busy.iter_mut().zip(bits).for_each(|(b, gone)| *b &= !gone);
        }
    }

    /// No version refers to these slots any more.
    pub fn set_free(&mut self, plane: usize, pages: Range<usize>) {
        self.planes[plane].busy.remove_range(pages);
    }

    /// Give memory of free slots back, at most `max_pages` of it; returns how many pages.
    pub fn trim(&mut self, max_pages: usize) -> io::Result<usize> {
        let mut done = 0;
        for p in self.planes.iter_mut().rev() {
            let mut idle = p.held.clone();
            idle.subtract(&p.busy);
            for run in idle.runs() {
                let run = run.start..run.end.min(run.start.saturating_add(max_pages - done));
                if run.is_empty() {
                    break;
                }
                p.memory.punch(&run)?;
                done += run.len();
                self.held_pages -= run.len();
                p.held.remove_range(run);
            }
        }
        Ok(done)
    }

    /// Whether `page` of `plane` is busy: for the tests' cross-check with the page maps.
    pub fn is_busy(&self, plane: usize, page: usize) -> bool {
        self.planes[plane].busy.contains(page)
    }
}

fn count(bits: &ChunkBits) -> u32 {
    bits.iter().map(|w| w.count_ones()).sum()
}
