//! The first step of publish: finds the pages that were written since the last harvest.

use crate::dirty::Harvested;
use crate::producer::Producer;
use std::time::Instant;
use tcasm_core::format::stats::Counter;
use tcasm_core::pageset::PageSet;
use tcasm_core::track::Harvest;

impl Producer {
    /// Adds the pages that were written since the last harvest to the dirty pages. Returns false if
    /// tracking failed: then everything may have changed, and parts of the region may not even be
    /// mapped. No capture may be running.
    pub(crate) fn harvest(&mut self) -> bool {
        let start = Instant::now();
        self.live.dma.forget();
        for pages in self.policy.choose_inline() {
            self.live.return_to_tracker(&pages);
        }
        self.live.return_parts(self.dirty.bound());
        self.end_gathering();
        let looked = self.find_dropped();
        let mut found = Harvest::new(self.live.span.pages);
        let unprotected = self.dirty.left_unprotected(self.policy.expected());
        let tracker = self.live.memory.tracker();
        let harvested = looked.and(tracker.harvest(&unprotected, &mut found));
        let gone = self.live.memory.adopted().harvest(&mut found);
        self.dirty.harvested(Harvested {
            found,
            untracked: &self.live.untracked,
            lost: harvested.is_err().then_some(self.live.memory.mapped()),
        });
        self.lose(gone);
        let mut surprising = self.dirty.faulted().clone();
        surprising.subtract(self.policy.recurring());
        if let Some(cold) = &mut self.policy.cold {
            cold.disturb(&surprising);
        }
        if let Err(error) = &harvested {
            log::warn!("tracking failed, so every page is compared with the last version: {error}");
            // Which pages can be read is checked page by page below. Copier threads must not meet
            // pages that cannot be read.
            self.live.return_to_tracker(&(0..self.live.span.pages));
            self.count(|s| s.add(Counter::TrackerErrors, 1));
        }
        self.take_returned();
        let ns = start.elapsed().as_nanos() as u64;
        self.count(|s| s.add(Counter::HarvestNs, ns));
        harvested.is_ok()
    }

    /// Tracks the chunks again that are being gathered into huge pages. They may have been written
    /// meanwhile.
    fn end_gathering(&mut self) {
        let mut gathered = PageSet::new(self.live.span.pages);
        for pages in self.live.end_gathering() {
            gathered.insert_range(pages);
        }
        self.dirty.mark_maybe(&gathered);
    }

    /// Takes the pages of chunks that were returned to the tracker since the last harvest: they may
    /// have been written while the gate watched them.
    fn take_returned(&mut self) {
        let returned = self.live.deferred.take_returned();
        if returned.is_empty() {
            return;
        }
        self.dirty.mark_maybe(&returned);
        self.policy.inline(&returned);
        self.store.lock().no_longer_whole(&returned);
    }
}
