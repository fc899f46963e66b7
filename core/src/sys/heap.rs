//! Whether the process has heap left. Where an allocation fails the Rust runtime ends the process:
//! so whoever works on behalf of a simulation asks first, and does without.

use crate::pageset::BLOCK_PAGES;
use std::fmt::Write;

/// Bytes of one block of a set of pages, with what an allocator adds.
const BLOCK: usize = BLOCK_PAGES / 8 + 64;
/// What publish, or a look of the keeper, takes besides sets of pages.
const BASE: usize = 256 << 10;
/// Sets that are worked on at once, and for each plane.
const SETS: usize = 24;
const SETS_PER_PLANE: usize = 4;

/// Returns the bytes of heap that working on sets of `pages` pages takes, where there are so many
/// planes.
pub fn for_sets(pages: usize, planes: usize) -> usize {
    let blocks = pages.div_ceil(BLOCK_PAGES);
    BASE + blocks * BLOCK * (SETS + SETS_PER_PLANE * planes)
}

/// Returns true if the process can have `bytes` bytes of heap. They stay with the allocator, so
/// that smaller pieces are there afterwards, unless another thread comes first.
pub fn has(bytes: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let had = room.try_reserve_exact(bytes).is_ok();
    // Otherwise the compiler leaves an allocation out that nobody uses.
    std::hint::black_box(room.as_ptr());
    had
}

/// Returns the error for an attempt that needed `bytes` bytes: an empty one if there is not even
/// memory for that.
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
    fn what_no_process_can_have_is_not_there() {
        assert!(has(for_sets(1 << 18, 8)));
        assert!(!has(1 << 60));
        assert!(lacks(5).starts_with("the process cannot have 5 bytes"));
    }
}
