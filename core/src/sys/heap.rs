//! Checks whether the process has heap left. If an allocation fails, the Rust runtime ends the
//! process. So code that works on behalf of a simulation checks first, and skips its work if there
//! is no memory.

use crate::pageset::BLOCK_PAGES;
use std::fmt::Write;

/// The bytes of one block of a set of pages, including the overhead of an allocator.
const BLOCK: usize = BLOCK_PAGES / 8 + 64;
/// The bytes that publish, or a scan of the keeper, needs besides sets of pages.
const BASE: usize = 256 << 10;
/// The number of sets that are in use at once, in total and for each plane.
const SETS: usize = 24;
const SETS_PER_PLANE: usize = 4;

/// Returns the bytes of heap that operations on sets of `pages` pages need with this number of
/// planes.
pub fn for_sets(pages: usize, planes: usize) -> usize {
    let blocks = pages.div_ceil(BLOCK_PAGES);
    BASE + blocks * BLOCK * (SETS + SETS_PER_PLANE * planes)
}

/// Returns true if the process can have `bytes` bytes of heap. The allocator keeps the memory, so
/// that smaller allocations succeed afterwards, unless another thread takes the memory first.
pub fn has(bytes: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let had = room.try_reserve_exact(bytes).is_ok();
    // Without this the compiler removes an allocation that nothing uses.
    std::hint::black_box(room.as_ptr());
    had
}

/// Returns the error text for an attempt that needed `bytes` bytes. The text is empty if there is
/// no memory for it.
pub fn lacks(bytes: usize) -> String {
    let mut text = String::new();
    if text.try_reserve_exact(256).is_ok() {
        let _ = write!(
            text,
            "the process cannot have {bytes} bytes more; raise its limits on memory (ulimit -v, \
             ulimit -d), or let it use less"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_amount_of_heap_is_available_and_an_exbibyte_is_not() {
        assert!(has(for_sets(1 << 18, 8)));
        assert!(!has(1 << 60));
        assert!(lacks(5).starts_with("the process cannot have 5 bytes"));
    }
}
