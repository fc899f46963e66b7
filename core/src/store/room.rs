//! Room for the pages of a new version, under the bound on memory (I7).

use super::{Skip, Store};
use crate::index::IndexError;
use crate::pageset::{CHUNK_PAGES, PageSet};
use crate::planes::Placement;
use crate::sabotage::{Guard, off};

impl Store {
    /// The slots that `choose` finds, with memory for them under the bound; older versions go first if need be.
    pub(super) fn make_room(
        &mut self,
        choose: impl Fn(&Store) -> Vec<Placement>,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Result<Vec<Placement>, Skip>, IndexError> {
        let page_size = self.index()?.layout().page_size as u64;
        for attempt in 0..3 {
            let placements = choose(self);
            let needed = self.planes.fresh_pages(&placements) as u64 * page_size;
            let over = (self.held_bytes() + needed).saturating_sub(self.bounds.bytes);
            if over == 0 || off(Guard::Bound) {
                return Ok(Ok(placements));
            }
            match attempt {
                0 => self.reclaim_beyond(1, pinned)?,
                // Free slots at other pages hold memory that is of no use here.
                1 => self.trim_but(&placements, over.div_ceil(page_size) as usize),
                _ => {
                    let (held, bound) = (self.held_bytes(), self.bounds.bytes);
                    return Ok(Err(Skip::Bytes {
                        needed,
                        held,
                        bound,
                    }));
                }
            }
        }
        unreachable!("the last attempt returns")
    }

    fn trim_but(&mut self, placements: &[Placement], pages: usize) {
        self.planes.set_busy(placements);
        // A failure to give back leaves the memory held, which the next check sees.
        let _ = self.planes.trim(pages);
        for p in placements {
            for run in crate::pageset::runs_of(&p.bits) {
                let start = p.chunk * CHUNK_PAGES;
                self.planes
                    .set_free(p.plane, start + run.start..start + run.end);
            }
        }
    }

    /// Slots to copy `pages` to.
    pub(super) fn place(&self, pages: &PageSet) -> Vec<Placement> {
        let mut placements = Vec::new();
        for (chunk, bits) in pages.chunks_in_use() {
            self.planes.place(chunk, bits, &mut placements);
        }
        placements
    }
}
