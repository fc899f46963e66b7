//! The audit: what planes have beyond the account goes back to the system.
//!
//! A process that reads a hole of a plane through a mapping allocates memory there, as `mlockall` does. It
//! counts nowhere, and would stay for as long as the region does.

use crate::keeper::{give_back, lock};
use std::io;
use tcasm_core::stats::{Counter, Stats};
use tcasm_core::store::Store;
use tcasm_core::sys::lock::Lock;

/// Compares planes with their account, and gives strays back. `told` is what was warned of so far, in pages.
pub(crate) fn audit(store: &Lock<Store>, told: &mut usize) {
    let stays = match expel(store) {
        Ok(stays) => stays,
        Err(error) => return tracing::warn!(%error, "the memory of planes could not be audited"),
    };
    if stays > *told {
        tracing::warn!(
            "{stays} pages of planes were allocated by other processes (or by mlockall), and stay until \
             fewer versions are pinned"
        );
    }
    *told = stays;
}

/// Gives strays back. Returns how many pages of them are left.
fn expel(store: &Lock<Store>) -> io::Result<usize> {
    let found = lock(store).audit()?;
    if found.strays.is_empty() {
        return note(store, 0, 0);
    }
    for strays in &found.strays {
        // Found outside the lock: it takes as long as there are extents.
        let present = strays.present()?;
        let leaving = lock(store).expel(strays, present);
        give_back(store, leaving);
    }
    let stays = lock(store).audit()?.stray_pages();
    note(store, stays, found.stray_pages().saturating_sub(stays))
}

/// Counts strays that stay and those that are gone, in pages.
fn note(store: &Lock<Store>, stays: usize, gone: usize) -> io::Result<usize> {
    let store = lock(store);
    let bytes = |pages: usize| (pages * store.page_size()) as u64;
    let counted = store.index().and_then(|index| {
        let stats = Stats::new(index.stats()?);
        stats.set(Counter::StrayBytes, bytes(stays))?;
        Ok(stats.add(Counter::StrayBytesReturned, bytes(gone))?)
    });
    counted.map(|()| stays).map_err(io::Error::other)
}
