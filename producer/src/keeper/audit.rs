//! The audit: finds stray memory in planes and gives it back to the system.
//!
//! A process that reads a hole of a plane through a mapping allocates memory there. `mlockall` does
//! so too. No account counts this memory, and it would stay for as long as the region does.

use super::memory::give_back;
use std::io;
use tcasm_core::format::stats::{Counter, Stats};
use tcasm_core::store::Store;
use tcasm_core::sys::lock::Lock;

/// Compares the memory of the planes with their account, and gives stray memory back. `before` is
/// the number of stray pages that the call before this one could not give back; it is updated. A
/// larger number is logged.
pub(super) fn audit(store: &Lock<Store>, before: &mut usize) {
    let stays = match expel(store) {
        Ok(stays) => stays,
        Err(error) => return log::warn!("the memory of planes could not be audited: {error}"),
    };
    if stays > *before {
        log::warn!(
            "{stays} pages of planes were allocated by other processes (or by mlockall), and stay \
             until fewer versions are pinned"
        );
    }
    *before = stays;
}

/// Gives stray memory back. Returns how many stray pages are left.
fn expel(store: &Lock<Store>) -> io::Result<usize> {
    let found = store.lock().audit()?;
    if found.strays.is_empty() {
        return note(store, 0, 0);
    }
    for strays in &found.strays {
        // The lock is not held here: the call takes as long as the plane has extents.
        let present = strays.present()?;
        let leaving = store.lock().expel(strays, present);
        give_back(store, leaving);
    }
    let stays = store.lock().audit()?.stray_pages();
    note(store, stays, found.stray_pages().saturating_sub(stays))
}

/// Updates the counters of stray memory: `stays` pages that are left, and `gone` pages that were
/// given back. Returns `stays`.
fn note(store: &Lock<Store>, stays: usize, gone: usize) -> io::Result<usize> {
    let store = store.lock();
    let bytes = |pages: usize| (pages * store.page_size()) as u64;
    let counted = store.index().and_then(|index| {
        let stats = Stats::new(index.stats()?);
        stats.set(Counter::StrayBytes, bytes(stays))?;
        Ok(stats.add(Counter::StrayBytesReturned, bytes(gone))?)
    });
    counted.map(|()| stays).map_err(io::Error::other)
}
