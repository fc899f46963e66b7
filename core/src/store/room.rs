//! Room for the pages of a new version, under the bound on memory (I7) and under the limits of the
//! control group and the machine, beyond which the kernel would kill the simulation.

use super::{Skip, Store};
use crate::index::IndexError;
use crate::planes::Slots;
use crate::sabotage::{Guard, off};
use crate::sys::room;

/// Why fresh memory may not be taken, and how many bytes too much it would be.
struct Lack {
    skip: Skip,
    bytes: u64,
}

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
            let Some(lack) = self.lack(needed) else {
                return Ok(Ok(slots));
            };
            match attempt {
                0 => self.reclaim_beyond(1, pinned)?,
                // Free slots at other pages hold memory that is of no use here.
                1 => {
                    self.scatter();
                    // A failure to give back leaves the memory held, which the next look sees.
                    let pages = lack.bytes.div_ceil(page_size) as usize;
                    let _ = self.planes.trim(pages, &slots);
                }
                _ => return Ok(Err(lack.skip)),
            }
        }
        unreachable!("the last attempt returns")
    }

    fn lack(&self, needed: u64) -> Option<Lack> {
        let (held, bound) = (self.held_bytes(), self.bounds.bytes);
        let over = (held + needed).saturating_sub(bound);
        if off(Guard::Bound) {
            return None;
        }
        if over != 0 {
            let skip = Skip::Bytes {
                needed,
                held,
                bound,
            };
            return Some(Lack { skip, bytes: over });
        }
        if needed == 0 {
            return None;
        }
        let skip = Skip::NoMemory {
            error: room::refusal(needed)?,
        };
        Some(Lack {
            skip,
            bytes: needed,
        })
    }

    /// Returns true if `bytes` bytes of fresh memory may be taken, under all limits.
    pub(super) fn may_take(&self, bytes: u64) -> bool {
        self.lack(bytes).is_none()
    }
}
