//! Where live memory can rest: on slots of the newest version that hold the same bytes.

use super::Store;
use crate::index::IndexError;
use crate::pagemap::ZERO;
use crate::pageset::{CHUNK_PAGES, ChunkBits, PageSet, runs_of};
use crate::planes::PlaneMemory;
use crate::sys::room;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The plane that has most pages of a chunk in the newest version.
#[derive(Clone, Debug)]
pub struct Bed {
    /// Its number.
    pub plane: usize,
    /// Its memory.
    pub memory: Arc<PlaneMemory>,
    /// Those pages.
    pub bits: ChunkBits,
}

impl Store {
    /// Where `chunk` can rest; none: all of it is zeros that have no memory.
    pub fn bed(&self, chunk: usize) -> Result<Option<Bed>, IndexError> {
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
            .map(|(plane, (_, bits))| Bed {
                plane,
                memory: self.planes.memory()[plane].clone(),
                bits: *bits,
            }))
    }

    /// See that the slots of `pages` in `plane` have memory, under the bound (I7): memory that comes to rest reads them all, also
    /// those where it has copies of its own, in `own`. Reading a slot without memory gives it some, of which nobody would know,
    /// and where there is none that is a signal. False: there is no room, or some are on their way out, or are to lie elsewhere
    /// in the next version. As long as the store is borrowed, none leaves, and none is chosen for another place.
    pub fn make_bed(
        &mut self,
        plane: usize,
        pages: &Range<usize>,
        own: &PageSet,
    ) -> io::Result<bool> {
        if self.compaction.meets(pages) {
            return Ok(false);
        }
        let fresh = own.runs().map(|run| self.planes.missing(plane, &run));
        let Some(fresh) = fresh.sum::<Option<usize>>() else {
            return Ok(false);
        };
        let bytes = |pages: usize| (pages * self.planes.page_size()) as u64;
        // Pages of `own` get copies before what they were is gone.
        if !self.may_take(bytes(fresh)) || room::refusal(bytes(own.len())).is_some() {
            return Ok(false);
        }
        own.runs()
            .try_for_each(|run| self.planes.secure(plane, &run))?;
        Ok(true)
    }

    /// Those of `bits` whose live bytes are not what `plane` holds: nobody should have changed them behind the tracker's back,
    /// but if somebody has, they must not rest there.
    ///
    /// # Safety
    /// `base` must be the region's live memory; the pages readable, and written by nobody during the call. The newest version
    /// must have them in `plane`.
    pub unsafe fn strangers(
        &self,
        base: *const u8,
        chunk: usize,
        plane: usize,
        bits: &ChunkBits,
    ) -> PageSet {
        let size = self.planes.page_size();
        let mut others = PageSet::new(self.index().map_or(0, |i| i.layout().pages));
        for page in runs_of(bits).flatten().map(|i| chunk * CHUNK_PAGES + i) {
            // SAFETY: inside live memory, readable and still by the caller's promise.
            let now = unsafe { std::slice::from_raw_parts(base.add(page * size), size) };
            if self.planes.page(plane, page) != now {
                others.insert(page);
            }
        }
        others
    }

    /// Whether the newest version has `page` in `plane`: for tests.
    pub fn holds(&self, plane: usize, page: usize) -> Result<bool, IndexError> {
        let newest = self.newest()?;
        let code = newest.map_or(Ok(ZERO), |map| map.code(page))?;
        Ok(usize::from(code) == plane + 1)
    }
}
