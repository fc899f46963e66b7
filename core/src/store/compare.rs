//! Compares live memory with the newest version.

use super::state::Store;
use crate::capture::{Compare, Copiers, Job, Outcome, Sweep};
use crate::format::index::IndexError;
use crate::format::pagemap::{ZERO, is_zero};
use crate::pageset::PageSet;
use crate::planes::Frames;
use crate::segments::Segments;
use crate::sys::copy::Stores;
use std::sync::Arc;

/// The fewest pages that the copiers help to compare. Below this they are not worth waking.
const TOGETHER: usize = 1024;

impl Store {
    /// Removes from `pages` those whose live bytes equal the newest version's. Before the first
    /// version, a page is unchanged if it is all zeros. The copiers help if there are many pages.
    ///
    /// # Safety
    /// The pages must be readable, unless they are adopted, and nobody may write them during the
    /// call.
    pub unsafe fn drop_unchanged(
        &self,
        live: &Arc<Segments>,
        pages: &mut PageSet,
        copiers: &Copiers,
    ) -> Result<(), IndexError> {
        let many = pages.len() >= TOGETHER && self.in_flight.is_none();
        // SAFETY: the caller keeps the promises of this function, which are the same.
        if many && unsafe { self.compare_together(live, pages, copiers) } {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { self.compare_alone(live, pages) }
    }

    /// Does the same with the copiers. Returns false, and changes nothing, if that fails.
    ///
    /// # Safety
    /// As for [`Store::drop_unchanged`].
    unsafe fn compare_together(
        &self,
        live: &Arc<Segments>,
        pages: &mut PageSet,
        copiers: &Copiers,
    ) -> bool {
        let chunks: Vec<usize> = pages.chunk_numbers().iter().collect();
        let job = Job {
            memory: live.clone(),
            nodes: self.planes.nodes_of(&chunks),
            live: chunks.len(),
            chunks,
            frames: Frames::default(),
            fresh: Frames::default(),
            planes: self.planes.memory(),
            newest: self.newest_for_threads(),
            compare: Compare::Only(pages.clone()),
            stores: Stores::Cached,
            huge_pages: false,
        };
        // SAFETY: the caller promises that nobody writes the pages during the call, and the sweep
        // ends within it. It has no frames. The newest version stays, because nothing is reclaimed
        // meanwhile.
        let sweep = Arc::new(unsafe { Sweep::new(job, None, Box::new(|_| Ok(()))) });
        if copiers.run(&sweep) != Outcome::Saved {
            return false;
        }
        for (chunk, changed) in sweep.changes() {
            *pages.chunk_mut(chunk) = changed;
        }
        true
    }

    /// Does the same without the copiers.
    ///
    /// # Safety
    /// As for [`Store::drop_unchanged`].
    unsafe fn compare_alone(&self, live: &Segments, pages: &mut PageSet) -> Result<(), IndexError> {
        let (newest, mut damage) = (self.newest()?, None);
        let candidates = pages.clone();
        for run in candidates.runs() {
            let mut compare = |page: usize, now: &[u8]| {
                let same = match newest.map_or(Ok(ZERO), |map| map.code(page)) {
                    Ok(ZERO) => is_zero(now),
                    Ok(code) => self.planes.page(usize::from(code) - 1, page) == now,
                    Err(error) => damage.replace(error).is_some(),
                };
                if same {
                    pages.remove_range(page..page + 1);
                }
                Ok(())
            };
            // SAFETY: the caller promises that the pages are readable and that nobody writes them.
            let _ = unsafe { live.look_at(&run, &mut compare) }; // `compare` never fails
        }
        damage.map_or(Ok(()), Err)
    }
}
