//! Tests whether memory under `uffd-async` may consist of huge pages.
//!
//! Linux protects a huge page as a whole, and splits it at the first store. But kernels before the
//! middle of 2026 never report a huge page that was dropped as a whole. There, and where the
//! kernel does not gather pages on request (Linux 6.1), live memory has small pages.

use super::memory::TrackedMemory;
use super::tracker::{Harvest, Span};
use super::uffd_async::UffdAsync;
use crate::pageset::PageSet;
use crate::sys::huge::is_huge;
use crate::sys::live::{drop_copies, gather};
use crate::sys::mem::{HUGE_PAGE, Mapping, page_size};
use std::sync::OnceLock;

/// Checks that a huge page stays huge while it is protected, and that a store to it and its loss
/// are both reported. The kernel stays the same, so this tries it only once in a process.
pub(super) fn huge_pages() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    FOUND.get_or_init(run).clone()
}

fn run() -> Result<(), String> {
    let memory = Mapping::reserve_aligned(HUGE_PAGE).map_err(|e| e.to_string())?;
    let mut trial = Trial::new(&memory)?;
    trial.fill();
    gather(&trial.range()).map_err(|e| format!("gathering pages (Linux 6.1): {e}"))?;
    let all = HUGE_PAGE / page_size();
    trial.expect("a huge page was written", all)?;
    trial.expect("nothing was written since", 0)?;
    if !is_huge(&trial.range()).map_err(|e| e.to_string())? {
        return Err("protecting a huge page splits it".into());
    }
    // SAFETY: nothing needs the bytes, and nothing is borrowed from them.
    unsafe { drop_copies(&trial.range()) }.map_err(|e| format!("MADV_DONTNEED: {e}"))?;
    trial.expect("a huge page was dropped; a newer kernel reports it", all)?;
    trial.store(7);
    trial.expect("one page was written", 1)
}

/// Tracked memory of one huge page. It is dropped before the reservation.
struct Trial {
    tracked: TrackedMemory,
    base: usize,
}

impl Trial {
    fn new(memory: &Mapping) -> Result<Self, String> {
        let span = Span {
            base: memory.addr(),
            pages: HUGE_PAGE / page_size(),
            page_size: page_size(),
        };
        let tracker = UffdAsync::new(span).map_err(|e| e.to_string())?;
        // SAFETY: the reservation belongs to this trial, which uses it for nothing else and is
        // dropped before it. The tracker was just created for the span.
        let mut tracked = unsafe { TrackedMemory::with(Box::new(tracker), span) };
        tracked.allow_huge_pages(true);
        tracked.map(0..span.pages).map_err(|e| e.to_string())?;
        Ok(Trial {
            tracked,
            base: span.base,
        })
    }

    fn range(&self) -> std::ops::Range<usize> {
        self.base..self.base + HUGE_PAGE
    }

    fn fill(&self) {
        (0..HUGE_PAGE / page_size()).for_each(|page| self.store(page));
    }

    fn store(&self, page: usize) {
        // SAFETY: the page is in the memory that `new` has mapped. Only this thread uses it.
        unsafe { ((self.base + page * page_size()) as *mut u8).write_volatile(1) }
    }

    fn expect(&mut self, situation: &str, pages: usize) -> Result<(), String> {
        let all = HUGE_PAGE / page_size();
        let mut found = Harvest::new(all);
        let tracker = self.tracked.tracker();
        let harvested = tracker.harvest(&PageSet::new(all), &mut found);
        harvested.map_err(|e| e.to_string())?;
        match found.written.len() {
            n if n == pages => Ok(()),
            n => Err(format!("{situation}: {pages} pages expected, {n} reported")),
        }
    }
}
