//! The keeper: a thread that returns memory to the system while the simulation computes, compacts
//! scattered pages, audits planes, and notices live memory that moves to another node.
//!
//! Observers release versions by a store to their lease, which wakes no thread. So the keeper scans
//! a few times a second. The work that it does under the lock of the store takes microseconds. It
//! punches holes and copies pages outside the lock.

mod audit;
mod memory;
mod nodes;

use audit::audit;
use memory::return_memory;
use nodes::follow;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tcasm_core::format::stats::{Counter, Stats};
use tcasm_core::store::Store;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::heap;
use tcasm_core::sys::lock::Lock;
use tcasm_core::sys::thread;
use tcasm_core::testing::fault;

/// The time between two scans, unless set otherwise.
pub(crate) const PERIOD: Duration = Duration::from_millis(200);

/// The running keeper thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Keeper {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    process: Process,
}

impl Keeper {
    /// Starts the thread, which scans `store` every `period`. `pinned` returns true if a lease
    /// names the version.
    pub(crate) fn start(
        store: Arc<Lock<Store>>,
        period: Duration,
        pinned: impl Fn(u64) -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopped = stop.clone();
        let named = Builder::new().name("tcasm-keeper".into());
        let thread = thread::spawn(named, move || {
            let (mut strays, mut refusal_logged) = (0, false);
            while !wait(&stopped, period) {
                // An allocation that fails would end the simulation, so the keeper first checks
                // that there is enough heap.
                let needed = store.lock().heap();
                if heap::has(needed) {
                    audit(&store, &mut strays);
                    follow(&store, &mut refusal_logged);
                    return_memory(&store, &pinned);
                    compact(&store);
                }
            }
        })?;
        Ok(Keeper {
            stop,
            thread: Some(thread),
            process: Process::current(),
        })
    }

    /// Ends the thread.
    pub(crate) fn stop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        if !self.process.is_current() {
            // A forked child has no such thread, and its copy of the lock may be held for ever.
            return std::mem::forget(thread);
        }
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        let _ = thread.join();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Sleeps for `period`. Returns true if the thread must end.
fn wait((stop, bell): &(Mutex<bool>, Condvar), period: Duration) -> bool {
    let stop = stop.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = bell.wait_timeout_while(stop, period, |stop| !*stop);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Copies some pages that are scattered over planes into one plane. The next version refers to the
/// copies.
fn compact(store: &Lock<Store>) {
    let chosen = store.lock().gather();
    let gather = match chosen {
        Ok(Some(gather)) => gather,
        Ok(None) => return,
        Err(error) => return log::warn!("pages are not compacted: {error}"),
    };
    let copied = gather.copy();
    if let Err(error) = &copied {
        log::warn!("pages are not compacted: {error}");
    }
    let mut store = store.lock();
    let pages = store.gathered(copied.is_ok()) as u64;
    fault::pass("gathered");
    let stats = store.index().and_then(|index| index.stats());
    let _ = stats.map(|words| Stats::new(words).add(Counter::PagesCompacted, pages));
}
