//! Room for the pages of a new version, under the bound on memory (I7).

use super::{Skip, Store};
use crate::index::IndexError;
use crate::planes::Slots;
use crate::sabotage::{Guard, off};

impl Store {
    /// The slots that `choose` finds, with memory for them under the bound; older versions go first if need be.
    pub(super) fn make_room(
        &mut self,
        choose: impl Fn(&Store) -> Slots,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Result<Slots, Skip>, IndexError> {
        let page_size = self.index()?.layout().page_size as u64;
        for attempt in 0..3 {
            let slots = choose(self);
            let needed = self.planes.fresh_pages(&slots) as u64 * page_size;
            let over = (self.held_bytes() + needed).saturating_sub(self.bounds.bytes);
            if over == 0 || off(Guard::Bound) {
                return Ok(Ok(slots));
            }
            match attempt {
                0 => self.reclaim_beyond(1, pinned)?,
                // Free slots at other pages hold memory that is of no use here.
                1 => {
                    self.scatter();
                    // A failure to give back leaves the memory held, which the next look sees.
                    let pages = over.div_ceil(page_size) as usize;
                    let _ = self.planes.trim(pages, &slots);
                }
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
}
