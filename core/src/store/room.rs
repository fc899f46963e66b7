//! Makes room for the pages of a new version.
//!
//! There are two kinds of limits: the bound on memory (I7), and the limits of the control group and
//! of the machine. Beyond the latter the kernel would kill the simulation.

use super::state::Store;
use super::terms::{NotPublished, Skip};
use crate::planes::Frames;
use crate::sys::room;
use crate::testing::sabotage::{Guard, off};

/// A refusal to take fresh memory: the reason, and the number of bytes that must be freed first.
struct Lack {
    skip: Skip,
    bytes: u64,
}

impl Store {
    /// Returns the frames that `choose` finds, once there is room for their memory. If there is
    /// not, first reclaims older versions, then returns memory of free frames. Gives a [`Skip`] if
    /// that does not help.
    pub(super) fn make_room(
        &mut self,
        choose: impl Fn(&Store) -> Frames,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Frames, NotPublished> {
        let page_size = self.index()?.layout().page_size as u64;
        for attempt in 0..3 {
            let frames = choose(self);
            let needed = self.planes.fresh_pages(&frames) as u64 * page_size;
            let Some(lack) = self.lack(needed) else {
                return Ok(frames);
            };
            match attempt {
                0 => self.reclaim_beyond(1, pinned)?,
                // Free frames of other pages hold memory that is of no use here.
                1 => {
                    self.drop_ready_batch();
                    // If memory cannot be returned, it stays held, and the next attempt sees that.
                    let pages = lack.bytes.div_ceil(page_size) as usize;
                    let _ = self.planes.trim(pages, &frames);
                }
                _ => return Err(lack.skip.into()),
            }
        }
        unreachable!("the last attempt returns")
    }

    fn lack(&self, needed: u64) -> Option<Lack> {
        let held = self.held_bytes();
        let bound = self.bounds.bytes - self.reserved_bytes();
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
