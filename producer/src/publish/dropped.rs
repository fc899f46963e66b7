//! Copies pages again whose copies the program has dropped (see `crate::live::dropped`).

use crate::producer::Producer;
use std::ops::Range;
use tcasm_core::pageset::{CHUNK_PAGES, PageSet};
use tcasm_core::store::Store;
use tcasm_core::track::TrackError;

impl Producer {
    /// Finds copies that the program has dropped, marks their pages as maybe dirty, and copies them
    /// again. After an error there may still be such pages, and perhaps no memory to read them.
    pub(crate) fn find_dropped(&mut self) -> Result<(), TrackError> {
        let found = self.live.look_for_dropped()?;
        if found.is_empty() {
            return Ok(());
        }
        log::warn!(
            "the program dropped {} pages of fields (MADV_DONTNEED): they have old bytes, and the \
             next version shows these",
            found.len()
        );
        self.dirty.mark_maybe(&found);
        for run in found.runs() {
            self.copy_again(&run)?;
        }
        Ok(())
    }

    /// Copies pages in place, so that nothing else can show in them any more. The tracker reports
    /// them as written afterwards.
    fn copy_again(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        // The lock is held until the pages are copied. The frames are free, so the keeper would
        // return their memory, and copying them would take some that does not count.
        let store = self.store.clone();
        let mut store = store.lock();
        self.take_memory_for(pages, &mut store);
        self.dirty.set_unprotected(pages.clone());
        self.live.memory.own_in_place(pages)
    }

    /// Reserves memory for the frames that are copied from. Copying a frame reads it, and a frame
    /// without memory gets some by that, which must be counted.
    fn take_memory_for(&self, pages: &Range<usize>, store: &mut Store) {
        let mut frames = PageSet::new(self.live.span.pages);
        frames.insert_range(pages.clone());
        for chunk in pages.start / CHUNK_PAGES..pages.end.div_ceil(CHUNK_PAGES) {
            let Some(plane) = self.live.shared.plane(chunk) else {
                continue;
            };
            let whole = chunk * CHUNK_PAGES..(chunk + 1) * CHUNK_PAGES;
            let mut own = frames.clone();
            own.remove_range(0..whole.start);
            own.remove_range(whole.end..self.live.span.pages);
            // If this fails the frames are read all the same: the program has done so already, or
            // is about to.
            let _ = store.reserve_backing(plane, &whole, &own);
        }
    }
}
