//! Moving mapped pages to another range, together with their page tables. No page is copied, and no
//! page is mapped again.
//!
//! If both ranges begin at the same offset within 2 MiB, the kernel moves 2 MiB of page table at a
//! time, which takes 0.25 us per MiB. The source is never left unmapped (MREMAP_DONTUNMAP, Linux
//! 5.13 for shared objects). Otherwise an mmap of another thread could get that range, and its
//! mapping would be destroyed when pages are moved back.

use super::mem::{MapError, Mapping};
use nix::errno::Errno;
use std::ffi::c_void;

const MOVE: libc::c_int = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;

/// Moves the pages at `from` to `to`, and replaces what is mapped there. `from` must lie in one
/// mapping of a shared object. It stays mapped to the same object, with no pages in its page
/// tables. After an error nothing has moved, but the mapping at `to` may be gone. Then the range is
/// reserved, and must be mapped again.
///
/// # Safety
/// Both ranges must be the caller's own, and must not overlap. Nothing may use them during the
/// call, and nothing that was borrowed from the memory at `to` may be alive.
pub unsafe fn relocate(from: *mut u8, to: *mut u8, len: usize) -> Result<(), MapError> {
    // SAFETY: by the caller's promise, both ranges are its own, do not overlap, and are not in use.
    // So the mapping at `to` may be replaced.
    let got = unsafe { libc::mremap(from.cast(), len, len, MOVE, to.cast::<c_void>()) };
    if got == libc::MAP_FAILED {
        let error = failed(from as usize, len, Errno::last());
        // Some kernels unmap the target before they check the other arguments. The reservation
        // keeps other mappings out of the range.
        if let Ok(reserved) = Mapping::reserve_at(to as usize, len) {
            std::mem::forget(reserved);
        }
        return Err(error);
    }
    Ok(())
}

fn failed(addr: usize, len: usize, source: Errno) -> MapError {
    let what = "move mapped pages of";
    MapError::Os {
        what,
        addr,
        len,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::object::Object;
    use nix::sys::resource::{UsageWho, getrusage};
    use std::os::fd::AsFd;

    fn filled(len: usize, value: u8) -> (Object, Mapping) {
        let object = Object::create("exchange", len as u64).unwrap();
        let map = Mapping::shared(object.as_fd(), len, true).unwrap();
        // SAFETY: the object was just mapped writable for that many bytes.
        unsafe { map.ptr().write_bytes(value, len) };
        (object, map)
    }

    fn sum(map: &Mapping, len: usize) -> u64 {
        // SAFETY: the mapping is readable for that many bytes, and only this thread uses it.
        let bytes = unsafe { std::slice::from_raw_parts(map.ptr(), len) };
        bytes.iter().step_by(4096).map(|b| u64::from(*b)).sum()
    }

    #[test]
    fn pages_change_places_without_faults_and_still_belong_to_their_objects() {
        let len = 16 << 20;
        let ((_a, map_a), (_b, map_b)) = (filled(len, 1), filled(len, 2));
        let spare = Mapping::reserve_aligned(len).unwrap();
        let faults = || {
            getrusage(UsageWho::RUSAGE_THREAD)
                .unwrap()
                .minor_page_faults()
        };
        for round in 0..5u64 {
            let before = faults();
            // SAFETY: the ranges belong to this test, do not overlap, and are not in use.
            unsafe {
                relocate(map_a.ptr(), spare.ptr(), len).unwrap();
                relocate(map_b.ptr(), map_a.ptr(), len).unwrap();
                relocate(spare.ptr(), map_b.ptr(), len).unwrap();
            }
            let (in_a, in_b) = (2 - round % 2, 1 + round % 2);
            assert_eq!(sum(&map_a, len), in_a * 4096, "round {round}");
            assert_eq!(sum(&map_b, len), in_b * 4096, "round {round}");
            // The test harness causes a few faults; 8192 pages were read.
            assert!(faults() - before < 64, "{}", faults() - before);
        }
    }

    #[test]
    fn after_a_failed_move_the_target_is_mapped_or_reserved() {
        let len = 4 << 20;
        let (_b, map) = filled(len, 2);
        let nothing = Mapping::reserve(len).unwrap();
        // SAFETY: the ranges belong to this test, do not overlap, and are not in use.
        unsafe { relocate(nothing.ptr().wrapping_add(1), map.ptr(), len) }.unwrap_err();
        assert!(Mapping::reserve_at(map.addr(), len).is_err());
    }
}
