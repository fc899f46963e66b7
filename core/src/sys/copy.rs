//! Copies pages with or without the cache.
//!
//! An ordinary store first reads the line that it is about to overwrite into the cache. A streaming
//! store does not. So a copy of pages that nobody reads soon takes two thirds of the memory
//! traffic, and leaves in the cache what the simulation has there.

/// How a copy stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// The copy is in the cache afterwards, as far as it has room there.
    Cached,
    /// The copy goes past the cache, where the processor can do this.
    Streaming,
}

impl Stores {
    /// The least number of bytes that are copied past the cache. Fewer may still be in the cache
    /// when an observer reads them.
    const LARGE: usize = 16 << 20;

    /// Returns how a capture of `bytes` bytes stores.
    pub fn of(bytes: usize) -> Self {
        match bytes >= Self::LARGE {
            true => Stores::Streaming,
            false => Stores::Cached,
        }
    }
}

/// Copies `len` bytes.
///
/// # Safety
/// The ranges must be valid and must not overlap. Nobody may write the first or use the second
/// during the call.
pub unsafe fn copy(from: *const u8, to: *mut u8, len: usize, stores: Stores) {
    #[cfg(target_arch = "x86_64")]
    if stores == Stores::Streaming && to.addr().is_multiple_of(LINE) && len.is_multiple_of(LINE) {
        // SAFETY: the caller keeps the promises of this function, which are the same. The target
        // is aligned, as just checked.
        return unsafe { stream(from, to, len) };
    }
    let _ = stores;
    // SAFETY: the caller promises all of it.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
}

/// The size of a line of the cache, in bytes.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Copies whole lines with streaming stores. SSE2, which has them, is a part of x86-64.
///
/// # Safety
/// As for [`copy`]. `to` and `len` must be multiples of `LINE`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse,sse2")]
unsafe fn stream(from: *const u8, to: *mut u8, len: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    // SAFETY: each line lies inside both ranges. Loads need no alignment, and the target is aligned
    // as the caller promises. The fence touches no memory, but the oldest compiler that is
    // supported counts it as unsafe.
    unsafe {
        for line in (0..len).step_by(LINE) {
            let (from, to) = (
                from.add(line).cast::<__m128i>(),
                to.add(line).cast::<__m128i>(),
            );
            let parts: [__m128i; LINE / 16] = std::array::from_fn(|i| _mm_loadu_si128(from.add(i)));
            (0..LINE / 16).for_each(|i| _mm_stream_si128(to.add(i), parts[i]));
        }
        // Streaming stores are not ordered with the stores after them. A version must not become
        // visible before its pages.
        _mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_large_captures_go_past_the_cache() {
        assert_eq!(Stores::of(Stores::LARGE - 1), Stores::Cached);
        assert_eq!(Stores::of(Stores::LARGE), Stores::Streaming);
    }

    proptest! {
        #[test]
        fn both_ways_copy_these_bytes_and_no_others(
            bytes in proptest::collection::vec(any::<u8>(), 600),
            (start, to, len) in (0usize..100, 0usize..130, 0usize..400),
            to_lines in any::<bool>(),
        ) {
            #[repr(align(64))]
            struct Target([u8; 600]);
            let (to, len) = if to_lines { (to / 64 * 64, len / 64 * 64) } else { (to, len) };
            for stores in [Stores::Cached, Stores::Streaming] {
                let mut target = Target([7; 600]);
                // SAFETY: both ranges lie inside their buffers, which do not overlap.
                unsafe {
                    copy(bytes.as_ptr().add(start), target.0.as_mut_ptr().add(to), len, stores);
                }
                let mut wanted = [7; 600];
                wanted[to..to + len].copy_from_slice(&bytes[start..start + len]);
                prop_assert_eq!(target.0, wanted);
            }
        }
    }
}
