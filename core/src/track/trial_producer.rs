//! A minimal producer, with which trackers are tested: it harvests, captures into a shadow copy,
//! and compares.

use super::create::create;
use super::{Harvest, Span, TrackError, TrackedMemory, Tracker, TrackerKind};
use crate::pageset::PageSet;
use crate::sys::mem::{Mapping, page_size};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use std::ffi::c_void;
use std::io::Write;
use std::ops::Range;
use std::ptr::NonNull;

/// A minimal producer: a reservation, a tracker, and the bytes of the last version.
pub(super) struct Producer {
    pub tracked: TrackedMemory,
    pub memory: Mapping,
    mapped: PageSet,
    shadow: Vec<u8>,
}

pub(super) fn span(memory: &Mapping) -> Span {
    Span {
        base: memory.addr(),
        pages: memory.len() / page_size(),
        page_size: page_size(),
    }
}

pub(super) fn reserve(pages: usize) -> Mapping {
    Mapping::reserve(pages * page_size()).unwrap()
}

impl Producer {
    /// Creates a producer that reserves `pages` pages and maps those in `mapped`.
    pub fn new(kind: TrackerKind, pages: usize, mapped: Range<usize>) -> Self {
        let memory = reserve(pages);
        let mut producer = Self::with(create(kind, span(&memory)).unwrap(), memory);
        producer.map(mapped);
        producer
    }

    pub fn with(tracker: Box<dyn Tracker>, memory: Mapping) -> Self {
        let (mapped, shadow) = (PageSet::new(span(&memory).pages), vec![0; memory.len()]);
        // SAFETY: the reservation is the producer's alone, and outlives the tracked memory: it is a
        // field that is declared after it. The callers have created the tracker for this span.
        let tracked = unsafe { TrackedMemory::with(tracker, span(&memory)) };
        Producer {
            tracked,
            memory,
            mapped,
            shadow,
        }
    }

    pub fn tracker(&mut self) -> &mut dyn Tracker {
        self.tracked.tracker()
    }

    pub fn map(&mut self, pages: Range<usize>) {
        self.tracked.map(pages.clone()).unwrap();
        self.mapped.insert_range(pages);
    }

    pub fn addresses(&self, pages: Range<usize>) -> Range<usize> {
        let at = |page| self.memory.addr() + page * page_size();
        at(pages.start)..at(pages.end)
    }

    /// Returns the bytes of a mapped range.
    pub fn bytes(&mut self, range: Range<usize>) -> &mut [u8] {
        let (first, last) = (range.start / page_size(), (range.end - 1) / page_size());
        assert!((first..=last).all(|p| self.mapped.contains(p)));
        // SAFETY: all pages are mapped, which was just checked. The memory belongs to this
        // producer, which stays borrowed mutably as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.memory.ptr().add(range.start), range.len()) }
    }

    pub fn pointer(&self, page: usize) -> NonNull<c_void> {
        NonNull::new(self.addresses(page..page + 1).start as *mut c_void).unwrap()
    }

    /// Changes the byte at `offset` of a page.
    pub fn store_at(&mut self, page: usize, offset: usize) {
        let at = page * page_size() + offset;
        let byte = &mut self.bytes(at..at + 1)[0];
        *byte = byte.wrapping_add(1);
    }

    pub fn store(&mut self, pages: &[usize]) {
        pages.iter().for_each(|p| self.store_at(*p, 100));
    }

    pub fn load(&mut self, page: usize) -> u8 {
        let at = page * page_size();
        std::hint::black_box(self.bytes(at..at + 1)[0])
    }

    fn differs(&mut self, page: usize) -> bool {
        let range = page * page_size()..(page + 1) * page_size();
        let live = self.bytes(range.clone()).to_vec();
        live != self.shadow[range]
    }

    /// Returns the pages that were written: those that the tracker reports, and those that may have
    /// been written and whose bytes differ.
    pub fn harvest(&mut self) -> Result<PageSet, TrackError> {
        self.harvest_but(&[])
    }

    /// Does the same as [`harvest`](Self::harvest), with pages that are expected to be written
    /// before the next one.
    pub fn harvest_but(&mut self, expected: &[usize]) -> Result<PageSet, TrackError> {
        let mut found = Harvest::new(self.mapped.capacity());
        let expected = set(self.mapped.capacity(), expected);
        self.tracker().harvest(&expected, &mut found)?;
        let mut written = found.written;
        for page in found.maybe.iter().filter(|p| self.differs(*p)) {
            written.insert(page);
        }
        Ok(written)
    }

    /// Harvests and captures, as `publish` does, and returns the pages that were written.
    pub fn publish(&mut self) -> Vec<usize> {
        let written = self.harvest().unwrap();
        self.capture(&written);
        self.check_shadow();
        written.iter().collect()
    }

    /// Copies the pages into the version, and tells the tracker.
    pub fn capture(&mut self, captured: &PageSet) {
        for run in captured.runs() {
            let range = run.start * page_size()..run.end * page_size();
            let live = self.bytes(range.clone()).to_vec();
            self.shadow[range].copy_from_slice(&live);
        }
        self.tracker().settle(captured).unwrap();
    }

    /// Checks that the version equals memory: no change was missed, and the capture changed
    /// nothing.
    fn check_shadow(&mut self) {
        let mapped: Vec<usize> = self.mapped.iter().collect();
        let wrong: Vec<usize> = mapped.into_iter().filter(|p| self.differs(*p)).collect();
        assert_eq!(wrong, [], "pages that differ from the version");
    }
}

pub(super) fn set(pages: usize, members: &[usize]) -> PageSet {
    let mut set = PageSet::new(pages);
    members.iter().for_each(|page| set.insert(*page));
    set
}

pub(super) fn pages(set: &PageSet) -> Vec<usize> {
    set.iter().collect()
}

/// Returns the number of page faults of this thread so far.
pub(super) fn faults() -> i64 {
    // SAFETY: zeros are a valid `rusage`, and the call writes only this local variable.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage.ru_minflt
    }
}

/// Runs `body` in a forked child. If it fails there, this test fails.
pub(super) fn in_child(body: impl FnOnce() -> Result<(), String>) {
    // SAFETY: the child has one thread, which runs the body. The body allocates and makes system
    // calls only; the C library keeps its allocator usable across fork. The child ends without
    // unwinding into the test harness.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let body = std::panic::AssertUnwindSafe(body);
            let result =
                std::panic::catch_unwind(body).unwrap_or_else(|_| Err("it panicked".into()));
            if let Err(text) = &result {
                let _ = writeln!(std::io::stderr(), "in the child: {text}");
            }
            // SAFETY: `_exit` ends this process at once, and runs no exit handlers of the harness.
            unsafe { libc::_exit(result.is_err().into()) }
        }
        ForkResult::Parent { child } => {
            assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
        }
    }
}
