//! Regions, and memory that a test unmaps itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use tcasm_core::sys::mem::{Mapping, page_size};
use tcasm_observer::{Observer, Version, ViewError};
use tcasm_producer::{DefineError, Field, Producer, Receipt, TrackerKind};
use tcasm_tests::{PublishVisible, name};

pub const PAGE: usize = 4096;
pub const CHUNK: usize = 512 * PAGE;

pub fn region(stem: &str, tracker: TrackerKind) -> (Producer, Observer) {
    let name = name(stem);
    let builder = Producer::builder(&name).capacity(16 * CHUNK).history(2);
    let p = builder.tracker(tracker).create().unwrap();
    let o = Observer::attach(&name).unwrap();
    (p, o)
}

/// Memory of anonymous pages, which the test unmaps itself.
pub struct Pages(pub Mapping);

impl Pages {
    /// Returns new memory at an address that neither the kernel nor a region chooses. So what a
    /// test unmaps stays unmapped, although other threads map memory, and may be unmapped again.
    pub fn new(pages: usize) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0x3000_0000_0000);
        let reserved = std::iter::from_fn(|| {
            let at = NEXT.fetch_add(1 << 30, Ordering::Relaxed);
            Some(Mapping::reserve_at(at, pages * page_size()))
        });
        let memory = reserved.flatten().next().unwrap();
        // SAFETY: nothing is borrowed from the reservation.
        unsafe { memory.put_zero(0, memory.len(), true) }.unwrap();
        Pages(memory)
    }

    pub fn at(&self, byte: usize) -> *mut u8 {
        self.0.ptr().wrapping_add(byte)
    }

    pub fn fill(&self, bytes: std::ops::Range<usize>, value: u8) {
        // SAFETY: the bytes are mapped, and this test uses them through this pointer only.
        unsafe { self.at(bytes.start).write_bytes(value, bytes.len()) };
    }

    pub fn bytes(&self, bytes: std::ops::Range<usize>) -> Vec<u8> {
        // SAFETY: the bytes are mapped, and nobody writes them during the call.
        unsafe { std::slice::from_raw_parts(self.at(bytes.start), bytes.len()) }.to_vec()
    }

    /// Maps new pages of zeros over the old ones.
    pub fn replace(&self, pages: std::ops::Range<usize>) {
        let size = page_size();
        // SAFETY: nothing is borrowed from the pages.
        unsafe {
            self.0
                .put_zero(pages.start * size, pages.len() * size, true)
        }
        .unwrap();
    }

    pub fn unmap(&self, pages: std::ops::Range<usize>) {
        let size = page_size();
        let at = self.at(pages.start * size).cast();
        // SAFETY: nothing is borrowed from the pages.
        assert_eq!(unsafe { libc::munmap(at, pages.len() * size) }, 0);
    }

    /// Adopts bytes as a field.
    pub fn adopt(
        &self,
        p: &mut Producer,
        field: &str,
        bytes: std::ops::Range<usize>,
    ) -> Result<Field<u8, ndarray::Ix1>, DefineError> {
        // SAFETY: the tests write these bytes between calls of the producer only, and make no view
        // of them that outlives the memory. Where they unmap them, that is what they test.
        unsafe { p.adopt(field, self.at(bytes.start), [bytes.len()]) }
    }
}

pub fn bytes(version: &Version, field: &str) -> Vec<u8> {
    version.view().unwrap().bytes(field).unwrap().to_vec()
}

pub fn published(p: &mut Producer, step: u64) -> tcasm_producer::Published {
    match p.publish_visible(step, 0.0).unwrap() {
        Receipt::Published(published) => published,
        Receipt::Skipped { reason, .. } => panic!("skipped: {reason}"),
    }
}

pub fn is_lost(version: &Version, field: &str) -> bool {
    let view = version.view().unwrap();
    matches!(view.bytes(field), Err(ViewError::Lost { name }) if name == field)
}
