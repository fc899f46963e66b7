//! The least that publishing costs: harvest the written pages, and copy them. No versions, no maps, nobody to see it.

use crate::workload::{PAGE, Random, random_pages, touch};
use tcasm_core::pageset::PageSet;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::track::{self, Span, Tracker, TrackerKind};

/// Tracked memory, and a second buffer to copy to.
pub struct Reference {
    tracker: Box<dyn Tracker>,
    memory: Mapping,
    copy: Vec<u8>,
    written: PageSet,
    random: Random,
}

impl Reference {
    /// `bytes` bytes, all written, harvested once, with a copy that has its memory.
    pub fn new(bytes: usize) -> Self {
        let memory = Mapping::reserve(bytes).expect("addresses");
        let span = Span {
            base: memory.addr(),
            pages: bytes / PAGE,
            page_size: PAGE,
        };
        // SAFETY: the span is the reservation, which is dropped after the tracker and used by nothing else.
        let mut tracker = unsafe { track::create(TrackerKind::UffdAsync, span) }.expect("tracker");
        tracker.map(0..span.pages).expect("memory");
        let mut this = Reference {
            tracker,
            memory,
            copy: vec![1; bytes],
            written: PageSet::new(span.pages),
            random: Random(7),
        };
        this.memory().fill(1);
        this.publish();
        this
    }

    /// The tracked memory.
    pub fn memory(&mut self) -> &mut [u8] {
        // SAFETY: mapped by the tracker for its whole length, and ours alone.
        unsafe { std::slice::from_raw_parts_mut(self.memory.ptr(), self.memory.len()) }
    }

    /// Write `percent` of all pages, drawn anew.
    pub fn compute(&mut self, percent: usize) {
        let pages = random_pages(&mut self.random, self.copy.len() / PAGE, percent);
        touch(self.memory(), &pages, 2);
    }

    /// Harvest and copy, run by run.
    pub fn publish(&mut self) {
        self.written.clear();
        let none = PageSet::new(self.written.capacity());
        let harvest = self.tracker.harvest(&none, &mut self.written);
        harvest.expect("harvested");
        for run in self.written.runs() {
            let bytes = run.start * PAGE..run.end * PAGE;
            // SAFETY: as in `memory`; the copy is other memory.
            let memory =
                unsafe { std::slice::from_raw_parts(self.memory.ptr(), self.memory.len()) };
            self.copy[bytes.clone()].copy_from_slice(&memory[bytes]);
        }
    }
}
