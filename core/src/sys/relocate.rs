//! Mapped pages move to another range, page tables included: nothing is copied, and no page is mapped anew.
//!
//! Where both ranges begin at the same offset within 2 MiB, the kernel moves 2 MiB of page table at a time: 0.25 us per
//! MiB. The source is never left unmapped (MREMAP_DONTUNMAP, Linux 5.13 for shared objects): another thread's mmap could
//! settle there, and would be lost to whoever moves pages back.

use super::mem::{MapError, Mapping};
use nix::errno::Errno;
use std::ffi::c_void;

const MOVE: libc::c_int = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;

/// Move the pages at `from`, one mapping of a shared object, over what is at `to`; `from` stays mapped, to the same object,
/// with no page in it. After an error nothing has moved, but what was at `to` may be gone: reserved, and to be mapped anew.
///
/// # Safety
/// Both ranges must be the caller's own, and apart from each other; nobody may use them during the call, and nothing borrowed
/// from what lies at `to` may be alive.
pub unsafe fn relocate(from: *mut u8, to: *mut u8, len: usize) -> Result<(), MapError> {
    // SAFETY: both ranges are the caller's, and unused; what lay at `to` may go.
    let got = unsafe { libc::mremap(from.cast(), len, len, MOVE, to.cast::<c_void>()) };
    if got == libc::MAP_FAILED {
        let error = failed(from as usize, len, Errno::last());
        // Some kernels unmap the target before they look at the rest. Nobody else should settle there.
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
        // SAFETY: just mapped writable for that many bytes.
        unsafe { map.ptr().write_bytes(value, len) };
        (object, map)
    }

    fn sum(map: &Mapping, len: usize) -> u64 {
        // SAFETY: readable for that many bytes.
        let bytes = unsafe { std::slice::from_raw_parts(map.ptr(), len) };
        bytes.iter().step_by(4096).map(|b| u64::from(*b)).sum()
    }

    #[test]
    fn pages_change_places_without_a_fault_and_go_on_being_their_objects() {
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
            // SAFETY: the ranges are the test's own.
            unsafe {
                relocate(map_a.ptr(), spare.ptr(), len).unwrap();
                relocate(map_b.ptr(), map_a.ptr(), len).unwrap();
                relocate(spare.ptr(), map_b.ptr(), len).unwrap();
            }
            let (in_a, in_b) = (2 - round % 2, 1 + round % 2);
            assert_eq!(sum(&map_a, len), in_a * 4096, "round {round}");
            assert_eq!(sum(&map_b, len), in_b * 4096, "round {round}");
            // A few are the harness's own; 8192 pages were read.
            assert!(faults() - before < 64, "{}", faults() - before);
        }
    }

    #[test]
    fn where_nothing_can_be_moved_the_target_stays_mapped_or_reserved() {
        let len = 4 << 20;
        let (_b, map) = filled(len, 2);
        let nothing = Mapping::reserve(len).unwrap();
        // SAFETY: the ranges are the test's own.
        unsafe { relocate(nothing.ptr().wrapping_add(1), map.ptr(), len) }.unwrap_err();
        assert!(Mapping::reserve_at(map.addr(), len).is_err());
    }
}
