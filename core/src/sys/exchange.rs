//! Two ranges of mapped pages change places, page tables included: nothing is copied, and no page is mapped anew.
//!
//! Where both ranges begin at the same offset within 2 MiB, the kernel moves 2 MiB of page table at a time: 0.25 us per
//! MiB. Source ranges are never left unmapped in between (MREMAP_DONTUNMAP, Linux 5.13 for shared objects): another
//! thread's mmap could settle there, and would be lost to the next step.

use super::mem::{HUGE_PAGE, MapError, Mapping};
use nix::errno::Errno;
use std::ffi::c_void;

const MOVE: libc::c_int = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;

/// Let the `len` bytes at `a` and at `b` change places by way of `spare`, which holds as many. Each range must be one mapping
/// of a shared object.
///
/// An error in the middle leaves in each range a mapping of what was there before or of what should be there after the
/// call; the caller must map both anew, or stop using them.
///
/// # Safety
/// Both ranges must be the caller's own, apart from each other and from `spare`; nobody may use them during the call, and
/// nothing borrowed from them or from `spare` may be alive.
pub unsafe fn exchange(
    a: *mut u8,
    b: *mut u8,
    spare: &Mapping,
    len: usize,
) -> Result<(), MapError> {
    let aligned = (a as usize).wrapping_sub(spare.addr()) % HUGE_PAGE;
    let spare_at = spare.ptr().wrapping_add(aligned);
    if aligned + len > spare.len() {
        return Err(failed(spare.addr(), len, Errno::EINVAL));
    }
    // SAFETY: the caller's promises; `spare_at` lies in `spare`, as just checked.
    unsafe {
        relocate(a, spare_at, len)?;
        relocate(b, a, len)?;
        relocate(spare_at, b, len)
    }
}

/// Move the pages at `from` over what is at `to`; `from` stays mapped, to the same object, with no page in it. An error
/// changes nothing.
///
/// # Safety
/// Both ranges must be the caller's own, apart from each other, and one mapping at `from`; nobody may use them during the
/// call, and nothing borrowed from what lies at `to` may be alive.
pub unsafe fn relocate(from: *mut u8, to: *mut u8, len: usize) -> Result<(), MapError> {
    let to: *mut c_void = to.cast();
    // SAFETY: both ranges are the caller's, and unused; what lay at `to` may go.
    let got = unsafe { libc::mremap(from.cast(), len, len, MOVE, to) };
    if got == libc::MAP_FAILED {
        return Err(failed(from as usize, len, Errno::last()));
    }
    Ok(())
}

fn failed(addr: usize, len: usize, source: Errno) -> MapError {
    let what = "exchange mapped pages of";
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
        let spare = Mapping::reserve(len + HUGE_PAGE).unwrap();
        let faults = || {
            getrusage(UsageWho::RUSAGE_THREAD)
                .unwrap()
                .minor_page_faults()
        };
        for round in 0..5u64 {
            let before = faults();
            // SAFETY: the ranges are the test's own.
            unsafe { exchange(map_a.ptr(), map_b.ptr(), &spare, len) }.unwrap();
            let (in_a, in_b) = (2 - round % 2, 1 + round % 2);
            assert_eq!(sum(&map_a, len), in_a * 4096, "round {round}");
            assert_eq!(sum(&map_b, len), in_b * 4096, "round {round}");
            // A few are the harness's own; 8192 pages were read.
            assert!(faults() - before < 64, "{}", faults() - before);
        }
    }

    #[test]
    fn a_spare_that_is_too_small_changes_nothing() {
        let len = 4 << 20;
        let ((_a, map_a), (_b, map_b)) = (filled(len, 1), filled(len, 2));
        let spare = Mapping::reserve(len / 2).unwrap();
        // SAFETY: the ranges are the test's own.
        unsafe { exchange(map_a.ptr(), map_b.ptr(), &spare, len) }.unwrap_err();
        assert_eq!((sum(&map_a, len), sum(&map_b, len)), (1024, 2048));
    }
}
