//! The least that publishing can cost: harvesting the dirty pages and copying them, without
//! versions, page maps or observers.

use crate::workload::{PAGE, Random, random_pages, touch};
use tcasm_core::pageset::PageSet;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::track::{Harvest, Span, TrackedMemory, TrackerKind};

/// Tracked memory, and a second buffer to copy to.
pub struct Reference {
    tracked: TrackedMemory,
    memory: Mapping,
    copy: Vec<u8>,
    pages: usize,
    random: Random,
}

impl Reference {
    /// Creates `bytes` bytes of tracked memory and the second buffer. All pages of both are
    /// touched, and the tracked memory has been harvested once.
    pub fn new(bytes: usize) -> Self {
        let memory = Mapping::reserve(bytes).expect("addresses");
        let span = Span {
            base: memory.addr(),
            pages: bytes / PAGE,
            page_size: PAGE,
        };
        // SAFETY: the span is the reservation. It is dropped after the tracked memory, and nothing
        // else uses it.
        let tracked = unsafe { TrackedMemory::create(TrackerKind::UffdAsync, span) };
        let mut tracked = tracked.expect("tracker");
        tracked.map(0..span.pages).expect("memory");
        let mut this = Reference {
            tracked,
            memory,
            copy: vec![1; bytes],
            pages: span.pages,
            random: Random(7),
        };
        this.memory().fill(1);
        this.publish();
        this
    }

    /// Returns the tracked memory.
    pub fn memory(&mut self) -> &mut [u8] {
        // SAFETY: the whole length is mapped. Only this value uses the memory, and it
        // is borrowed by `&mut`.
        unsafe { std::slice::from_raw_parts_mut(self.memory.ptr(), self.memory.len()) }
    }

    /// Writes `percent` of all pages, chosen at random in each call.
    pub fn compute(&mut self, percent: usize) {
        let pages = random_pages(&mut self.random, self.copy.len() / PAGE, percent);
        touch(self.memory(), &pages, 2);
    }

    /// Harvests the dirty pages and copies them, one run of pages at a time.
    pub fn publish(&mut self) {
        let (none, mut found) = (PageSet::new(self.pages), Harvest::new(self.pages));
        let harvested = self.tracked.tracker().harvest(&none, &mut found);
        harvested.expect("harvested");
        for run in found.written.runs() {
            let bytes = run.start * PAGE..run.end * PAGE;
            // SAFETY: the memory is mapped and used by this value only, as in `memory`. The copy is
            // in other memory.
            let memory =
                unsafe { std::slice::from_raw_parts(self.memory.ptr(), self.memory.len()) };
            self.copy[bytes.clone()].copy_from_slice(&memory[bytes]);
        }
    }
}
