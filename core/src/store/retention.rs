//! Returns unused memory to the system from a background thread: it reclaims versions that nobody
//! pins any more, and returns the memory of frames that will not be needed.
//!
//! To allocate a page costs several times as much as to copy one, on a virtual machine twenty times
//! and more. So each page that changed lately, or that changes again and again, keeps one frame to
//! be captured into. With a history, a page that the newest version changed has such a frame
//! already: the oldest version gives one up when the next is published. Any other page keeps a free
//! frame with memory, if there is one. As long as versions change other pages than before, nobody
//! can tell which pages come next, and every page keeps a frame.
//!
//! All other frames return their memory if they were not taken for two windows of scans.
//! `planes/retention.rs` learns how long a window must be. Punching holes takes long, so it is done
//! outside the lock of the store. Meanwhile the frames are *leaving*: nobody places a page there.

use super::state::Store;
use crate::format::index::IndexError;
use crate::pageset::PageSet;
use crate::planes::Leaving;
use std::ops::Range;

/// The largest number of pages that are returned at once.
const AT_ONCE: usize = 8192;

impl Store {
    /// Records that chunks are no longer captured as a whole. From now on only those of `pages`
    /// need frames that really change.
    pub fn no_longer_whole(&mut self, pages: &PageSet) {
        self.recent.forget(pages);
    }

    /// Begins a scan for memory to return.
    pub fn look(&mut self) {
        self.planes.look();
    }

    /// Reclaims at most one version that nobody pins, and chooses frames whose memory is returned.
    /// The caller must punch them, and then call [`Store::gone`]. Returns none while a capture is
    /// running.
    pub fn begin_return(
        &mut self,
        pinned: &dyn Fn(u64) -> bool,
    ) -> Result<Vec<Leaving>, IndexError> {
        self.take_note();
        if self.in_flight.is_some() {
            return Ok(Vec::new());
        }
        let keep = (self.bounds.history + 1).max(self.live.len().saturating_sub(1));
        self.reclaim_beyond(keep, pinned)?;
        if !self.has_plane_to_spare() {
            return Ok(Vec::new());
        }
        let wanted = self.recent.wanted(self.bounds.history);
        Ok(self.planes.leave(wanted, AT_ONCE))
    }

    /// Lets frames be used again. They come with the pages that keep their memory.
    pub fn gone(&mut self, leaving: &[(Leaving, Vec<Range<usize>>)]) {
        for (frames, kept) in leaving {
            self.planes.gone(frames, kept);
        }
    }
}
