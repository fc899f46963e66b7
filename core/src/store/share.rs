//! Chooses frames of the newest version that live memory can be shared with. They must hold the
//! same bytes.

use super::state::Store;
use crate::format::index::IndexError;
use crate::format::pagemap::{Code, ZERO};
use crate::pageset::{CHUNK_PAGES, ChunkBits, PageSet, runs_of};
use crate::planes::{Becoming, PlaneMemory};
use crate::segments::Segments;
use crate::sys::room;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The plane that has most pages of a chunk in the newest version.
#[derive(Clone, Debug)]
pub struct ShareTarget {
    /// The number of the plane.
    pub plane: usize,
    /// The memory of the plane.
    pub memory: Arc<PlaneMemory>,
    /// The pages of the chunk that are in the plane.
    pub bits: ChunkBits,
}

impl Store {
    /// Chooses a chunk of a plane that is to become a huge page. The caller must gather it, without
    /// keeping the store borrowed, and then call [`Store::has_become_huge`].
    pub fn begin_huge(&mut self) -> Option<Becoming> {
        self.planes.begin_huge()
    }

    /// Records whether a chunk has become a huge page.
    pub fn has_become_huge(&mut self, chunk: &Becoming, gathered: bool) {
        self.planes.has_become_huge(chunk, gathered);
    }

    /// Reserves `pages` of live memory, which are to be gathered: none of them becomes shared with
    /// a plane until [`Store::has_gathered`] is called. Returns false if they may be shared now.
    /// Then the kernel would gather the frames of the plane, and give memory to those that have
    /// none.
    pub fn begin_gathering(&mut self, pages: &Range<usize>) -> bool {
        let private = !self.may_be_shared(pages);
        self.gathering = private.then(|| pages.clone());
        private
    }

    /// Ends what [`Store::begin_gathering`] began.
    pub fn has_gathered(&mut self) {
        self.gathering = None;
    }

    /// Returns true if some of `pages` of live memory are being gathered.
    fn is_gathering(&self, pages: &Range<usize>) -> bool {
        let mut gathering = self.gathering.iter();
        gathering.any(|g| g.start < pages.end && pages.start < g.end)
    }

    /// Returns the plane that `chunk` can be shared with. `None` if no page of the chunk has memory
    /// in the newest version: then all of them are zeros.
    pub fn share_target(&self, chunk: usize) -> Result<Option<ShareTarget>, IndexError> {
        let Some(newest) = self.newest()? else {
            return Ok(None);
        };
        let (map, pages) = (newest.chunk(chunk)?, self.index()?.layout().pages_in(chunk));
        let mut planes = vec![(0u32, ChunkBits::default()); self.bounds.versions];
        for i in 0..pages {
            let code = map.code(i);
            if code != ZERO {
                let (count, bits) = &mut planes[usize::from(code) - 1];
                *count += 1;
                bits[i / 64] |= 1 << (i % 64);
            }
        }
        let most = planes
            .iter()
            .enumerate()
            .max_by_key(|(_, (count, _))| *count);
        Ok(most
            .filter(|(_, (count, _))| *count != 0)
            .map(|(plane, (_, bits))| ShareTarget {
                plane,
                memory: self.planes.memory()[plane].clone(),
                bits: *bits,
            }))
    }

    /// Returns true if the newest version has the pages of `target` in its plane, as it had when
    /// the target was chosen. The version in flight may have become the newest one since then, and
    /// have other planes for pages that did not change.
    ///
    /// As long as the caller keeps the store borrowed, the answer stays true.
    pub fn still_has(&self, chunk: usize, target: &ShareTarget) -> Result<bool, IndexError> {
        let newest = self.newest()?;
        let map = newest.map(|newest| newest.chunk(chunk)).transpose()?;
        let has = |i| map.as_ref().map_or(ZERO, |map| map.code(i)) == target.plane as Code + 1;
        Ok(runs_of(&target.bits).flatten().all(has))
    }

    /// Takes memory, under the bound (I7), for the frames of `plane` that will back the pages `own`
    /// of `pages`. Live memory has copies of its own of these pages.
    ///
    /// A chunk is shared with a plane by a mapping of all its pages, and the kernel reads also the
    /// frames of pages that are copied. Reading a frame without memory would allocate some, which
    /// nobody accounts for; where the system has none, it would be a signal. So every frame needs
    /// memory before.
    ///
    /// Returns false if there is no room, if memory of some of the frames is being returned, if a
    /// batch of the compaction or the version in flight moves some of the pages, if live memory of
    /// some is being gathered, or if some page would go to another node of memory. As long as the
    /// caller keeps the store borrowed, none of this changes.
    pub fn reserve_backing(
        &mut self,
        plane: usize,
        pages: &Range<usize>,
        own: &PageSet,
    ) -> io::Result<bool> {
        let moves = self.compaction.meets(pages) || self.is_moving(pages);
        if moves || self.is_gathering(pages) || !self.planes.keeps_nodes(plane, pages, own) {
            return Ok(false);
        }
        let fresh = own.runs().map(|run| self.planes.missing(plane, &run));
        let Some(fresh) = fresh.sum::<Option<usize>>() else {
            return Ok(false);
        };
        let bytes = |pages: usize| (pages * self.planes.page_size()) as u64;
        // The pages of `own` are copied before their old memory is returned, so there must be room
        // for both.
        if !self.may_take(bytes(fresh)) || room::refusal(bytes(own.len())).is_some() {
            return Ok(false);
        }
        own.runs()
            .try_for_each(|run| self.planes.secure(plane, &run))?;
        Ok(true)
    }

    /// Returns the pages of `bits` whose live bytes differ from those in `plane`. There should be
    /// none. A page that was written without the tracker noticing must not be shared with the
    /// plane.
    ///
    /// # Safety
    /// The pages must be readable, and nobody may write them during the call. The newest version
    /// must have them in `plane`.
    pub unsafe fn differing_pages(
        &self,
        live: &Segments,
        chunk: usize,
        plane: usize,
        bits: &ChunkBits,
    ) -> PageSet {
        let mut differing = PageSet::new(self.index().map_or(0, |i| i.layout().pages));
        for run in runs_of(bits) {
            let pages = chunk * CHUNK_PAGES + run.start..chunk * CHUNK_PAGES + run.end;
            let mut compare = |page: usize, now: &[u8]| {
                if self.planes.page(plane, page) != now {
                    differing.insert(page);
                }
                Ok(())
            };
            // SAFETY: the caller promises that the pages are readable and that nobody writes them.
            let _ = unsafe { live.look_at(&pages, &mut compare) }; // `compare` never fails
        }
        differing
    }

    /// Returns true if the newest version has `page` in `plane`. For tests.
    pub fn holds(&self, plane: usize, page: usize) -> Result<bool, IndexError> {
        let newest = self.newest()?;
        let code = newest.map_or(Ok(ZERO), |map| map.code(page))?;
        Ok(usize::from(code) == plane + 1)
    }
}
