//! The rival: a ring of slots in memory that both processes map. One copies the bytes in, the other
//! one copies them out.

use std::os::fd::AsFd;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::yield_now;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::object::Object;

const SLOT: usize = 64 << 10;
const SLOTS: usize = 8;
/// The counters are in the page before the slots.
const HEAD: usize = 4096;

/// The ring. Both processes have it, because the mapping is made before they part.
pub struct Ring {
    mapping: Mapping,
    _object: Object,
}

impl Ring {
    pub fn new() -> Ring {
        let len = HEAD + SLOT * SLOTS;
        let object = Object::create("tcasm-bench", len as u64).expect("memory");
        let mapping = Mapping::shared(object.as_fd(), len, true).expect("addresses");
        Ring {
            mapping,
            _object: object,
        }
    }

    /// Copies bytes in, as fast as the other process makes room.
    pub fn put(&self, bytes: &[u8]) {
        for part in bytes.chunks(SLOT) {
            let number = self.filled().load(Ordering::Relaxed);
            while number - self.emptied().load(Ordering::Acquire) >= SLOTS as u64 {
                yield_now();
            }
            // SAFETY: the slot is empty, so only this process uses it.
            unsafe { self.slot(number, part.len()) }.copy_from_slice(part);
            self.filled().store(number + 1, Ordering::Release);
        }
    }

    /// Copies bytes out, as fast as they come.
    pub fn take(&self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(SLOT) {
            let number = self.emptied().load(Ordering::Relaxed);
            while number == self.filled().load(Ordering::Acquire) {
                yield_now();
            }
            // SAFETY: the slot is full, so only this process uses it.
            part.copy_from_slice(unsafe { self.slot(number, part.len()) });
            self.emptied().store(number + 1, Ordering::Release);
        }
    }

    fn filled(&self) -> &AtomicU64 {
        // SAFETY: the word is in the mapping, aligned, and only used as an atomic.
        unsafe { &*self.mapping.ptr().cast() }
    }

    fn emptied(&self) -> &AtomicU64 {
        // SAFETY: the word is in the mapping, aligned, and only used as an atomic.
        unsafe { &*self.mapping.ptr().add(HEAD / 2).cast() }
    }

    /// Returns the bytes of a slot.
    ///
    /// # Safety
    /// Only this process may use the slot as long as the slice is used, and only once.
    #[allow(clippy::mut_from_ref)]
    unsafe fn slot(&self, number: u64, len: usize) -> &mut [u8] {
        let at = HEAD + number as usize % SLOTS * SLOT;
        // SAFETY: the slot is in the mapping, and by the caller's promise nothing else uses it.
        unsafe { slice::from_raw_parts_mut(self.mapping.ptr().add(at), len) }
    }
}
