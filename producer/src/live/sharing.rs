//! Maps chunks of live memory to planes, and gives them private memory again.

use super::memory::LiveMemory;
use std::ops::Range;
use tcasm_core::pageset::PageSet;
use tcasm_core::planes::PlaneMemory;
use tcasm_core::track::TrackError;

impl LiveMemory {
    /// Shares `pages`, whole chunks, with plane number `plane`, whose memory is `memory`. The pages
    /// in `own` get copies of their own instead. After an error the pages may be shared or not.
    ///
    /// # Safety
    /// - Nobody writes during the call.
    /// - No device has the pages locked for DMA.
    /// - The newest version has all of `pages` but those in `own` in that plane, with the bytes
    ///   that live memory has.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn share(
        &mut self,
        pages: &Range<usize>,
        (plane, memory): (usize, &PlaneMemory),
        own: &PageSet,
    ) -> Result<(), TrackError> {
        // SAFETY: the caller keeps the obligations of this function, which are those of
        // `TrackedMemory::share`. The plane goes on holding the bytes, by the rule at the top of
        // `shared.rs`.
        let shared = unsafe { self.memory.share(pages, memory.fd(), own) };
        self.shared.add(pages, plane, own);
        if shared.is_err() {
            self.resume(pages.clone());
        }
        shared
    }

    /// Gives the shared chunks of `pages` private memory again. It is other memory than before,
    /// unless some of it may be locked for DMA: then the pages are copied in place.
    ///
    /// # Safety
    /// Nobody writes during the call.
    #[allow(unsafe_code)]
    pub(super) unsafe fn own(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        for run in self.shared.runs_in(pages) {
            let owned = match self.dma.reason() {
                Some(_) => self.memory.own_in_place(&run),
                // SAFETY: the caller promises that nobody writes during the call. No device has
                // memory locked for DMA.
                None => unsafe { self.memory.own(&run) },
            };
            if let Err(error) = owned {
                self.resume(run);
                return Err(error);
            }
            self.shared.forget(&run);
        }
        Ok(())
    }

    /// Copies the shared pages of the chunks in `pages` in place, for memory that may be locked for
    /// DMA. Returns the chunks concerned. The tracker may report their pages as written although
    /// they were not.
    pub(crate) fn own_in_place(&mut self, pages: &Range<usize>) -> Vec<Range<usize>> {
        let runs = self.shared.runs_in(pages);
        for run in &runs {
            match self.memory.own_in_place(run) {
                Ok(()) => self.shared.forget(run),
                // The pages are still shared. A device that has them locked makes the kernel copy
                // them first.
                Err(error) => log::warn!("pages {run:?} stay shared with a plane: {error}"),
            }
        }
        runs
    }
}
