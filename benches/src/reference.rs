//! The rivals of the goals. That of publish harvests the dirty pages and copies them, without
//! versions, page maps or observers. That of a switch to another version maps or copies the pages
//! that differ, one by one.

use crate::workload::{PAGE, Random, random_pages, touch};
use std::os::fd::AsFd;
use tcasm_core::pageset::PageSet;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::object::Object;
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

/// A view of two objects in memory, like two planes. Single pages of it change between them.
pub struct PageByPage {
    planes: [Object; 2],
    view: Mapping,
    /// For each page, the plane that is mapped.
    plane: Vec<usize>,
    copy: Vec<u8>,
    random: Random,
}

/// Of so many pages, one changes. The kernel has a limit on mappings, and each page that lies
/// between those of the other plane is one.
const APART: usize = 8;

impl PageByPage {
    /// Creates a view of `bytes` bytes, all of them of the first plane, which has memory.
    pub fn new(bytes: usize) -> Self {
        let plane = |name: &str| Object::create(name, bytes as u64).expect("an object");
        let planes = ["bench-plane-0", "bench-plane-1"].map(plane);
        planes[0].allocate(0..bytes as u64).expect("memory");
        let view = Mapping::reserve_aligned(bytes).expect("addresses");
        // SAFETY: the reservation is new, and nothing is borrowed from it.
        unsafe { view.put_shared(0, bytes, planes[0].as_fd(), 0) }.expect("mapped");
        PageByPage {
            planes,
            view,
            plane: vec![0; bytes / PAGE],
            copy: vec![1; bytes],
            random: Random(7),
        }
    }

    /// Returns `percent` of all pages, chosen at random in each call. They can be at most an eighth
    /// of all.
    pub fn draw(&mut self, percent: usize) -> Vec<usize> {
        assert!(percent * APART <= 100, "{percent} % are too many");
        let some = self.plane.len() / APART;
        let pages = random_pages(&mut self.random, some, percent * APART).into_iter();
        pages.map(|page| page * APART).collect()
    }

    /// Maps each of these pages from the plane that it does not show, one after the other.
    pub fn map(&mut self, pages: &[usize]) {
        for page in pages {
            let (plane, at) = (1 - self.plane[*page], page * PAGE);
            self.plane[*page] = plane;
            // SAFETY: nothing is ever borrowed from the view.
            let mapped = unsafe {
                self.view
                    .put_shared(at, PAGE, self.planes[plane].as_fd(), at)
            };
            mapped.expect("mapped");
        }
    }

    /// Copies each of these pages from the first plane into memory that exists, one after the
    /// other.
    pub fn copy(&mut self, pages: &[usize]) {
        for at in pages.iter().map(|page| page * PAGE) {
            let into = &mut self.copy[at..at + PAGE];
            self.planes[0].read(into, at as u64).expect("read");
        }
    }
}
