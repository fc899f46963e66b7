//! Returns the memory of free frames to the system.

use tcasm_core::format::stats::{Counter, Stats};
use tcasm_core::planes::Leaving;
use tcasm_core::store::Store;
use tcasm_core::sys::lock::Lock;

/// Returns unused memory to the system, a little at a time.
pub(super) fn return_memory(store: &Lock<Store>, pinned: &dyn Fn(u64) -> bool) {
    store.lock().look();
    loop {
        let begun = store.lock().begin_return(pinned);
        let leaving = match begun {
            Ok(leaving) if leaving.is_empty() => return,
            Ok(leaving) => leaving,
            Err(error) => return log::warn!("no memory is returned to the system: {error}"),
        };
        if !give_back(store, leaving) {
            // Tries again at the next scan, not at once.
            return;
        }
    }
}

/// Returns the memory of the frames in `leaving` to the system. Returns false if some of it could
/// not be given back.
pub(super) fn give_back(store: &Lock<Store>, leaving: Vec<Leaving>) -> bool {
    let punched = |frames: Leaving| {
        let kept = frames.punch().err().map_or_else(Vec::new, |error| {
            let level = match error.is_busy() {
                true => log::Level::Debug,
                false => log::Level::Warn,
            };
            log::log!(
                level,
                "memory of free frames could not be returned to the system: {error}"
            );
            error.kept
        });
        (frames, kept)
    };
    let leaving: Vec<_> = leaving.into_iter().map(punched).collect();
    let mut store = store.lock();
    store.gone(&leaving);
    let held = store.held_bytes();
    let stats = store.index().and_then(|index| index.stats());
    let _ = stats.map(|words| Stats::new(words).set(Counter::HeldBytes, held));
    leaving.iter().all(|(_, kept)| kept.is_empty())
}
