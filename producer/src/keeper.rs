//! The keeper: a thread that gives memory back while the simulation computes, and puts together what lies scattered.
//!
//! Observers let go of versions by a store to their lease, which wakes nobody; so it looks a few times a second. What it does
//! under the lock of the store takes microseconds; punching holes and copying happen outside.

use crate::audit::audit;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tcasm_core::fault;
use tcasm_core::planes::Leaving;
use tcasm_core::stats::{Counter, Stats};
use tcasm_core::store::Store;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::heap;
use tcasm_core::sys::lock::{Guard, Lock};
use tcasm_core::sys::thread;

/// How often it looks, unless told otherwise.
pub(crate) const PERIOD: Duration = Duration::from_millis(200);

/// The store, for as long as the result lives. A panic while it was held was ours: what the store says is checked anyway.
pub(crate) fn lock(store: &Lock<Store>) -> Guard<'_, Store> {
    store.lock()
}

/// The running thread; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Keeper {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    process: Process,
}

impl Keeper {
    /// Keep `store` tidy, with a look every `period`; `pinned` says whether a lease names a version.
    pub(crate) fn start(
        store: Arc<Lock<Store>>,
        period: Duration,
        pinned: impl Fn(u64) -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopped = stop.clone();
        let named = Builder::new().name("tcasm-keeper".into());
        let thread = thread::spawn(named, move || {
            let mut told = 0;
            while !wait(&stopped, period) {
                // An allocation that fails would end the simulation.
                let needed = lock(&store).heap();
                if heap::has(needed) {
                    audit(&store, &mut told);
                    tidy(&store, &pinned);
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

    /// End the thread.
    pub(crate) fn stop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        if !self.process.is_current() {
            // A forked child has no such thread, and perhaps a lock that nobody will ever release.
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

/// Sleep for a while; true: it is over.
fn wait((stop, bell): &(Mutex<bool>, Condvar), period: Duration) -> bool {
    let stop = stop.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = bell.wait_timeout_while(stop, period, |stop| !*stop);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Give back what can be, a little at a time.
fn tidy(store: &Lock<Store>, pinned: &dyn Fn(u64) -> bool) {
    lock(store).look();
    loop {
        let tidied = lock(store).tidy(pinned);
        let leaving = match tidied {
            Ok(leaving) if leaving.is_empty() => return,
            Ok(leaving) => leaving,
            Err(error) => return tracing::warn!(%error, "memory is not given back"),
        };
        if !give_back(store, leaving) {
            // Again at the next look, not at once.
            return;
        }
    }
}

/// Gives the memory of slots back that leave. Returns false if some of it could not be given back.
pub(crate) fn give_back(store: &Lock<Store>, leaving: Vec<Leaving>) -> bool {
    let punched = |slots: Leaving| {
        let punched = slots.punch();
        if let Err(error) = &punched {
            tracing::warn!(%error, "memory of free pages could not be given back");
        }
        (slots, punched.is_ok())
    };
    let leaving: Vec<_> = leaving.into_iter().map(punched).collect();
    let mut store = lock(store);
    store.gone(&leaving);
    let held = store.held_bytes();
    let stats = store.index().and_then(|index| index.stats());
    let _ = stats.map(|words| Stats::new(words).set(Counter::HeldBytes, held));
    leaving.iter().all(|(_, punched)| *punched)
}

/// Put together some of what lies scattered over planes: the next version uses it.
fn compact(store: &Lock<Store>) {
    let chosen = lock(store).gather();
    let gather = match chosen {
        Ok(Some(gather)) => gather,
        Ok(None) => return,
        Err(error) => return tracing::warn!(%error, "pages stay where they are"),
    };
    let copied = gather.copy();
    if let Err(error) = &copied {
        tracing::warn!(%error, "pages stay where they are");
    }
    let mut store = lock(store);
    let pages = store.gathered(copied.is_ok()) as u64;
    fault::pass("gathered");
    let stats = store.index().and_then(|index| index.stats());
    let _ = stats.map(|words| Stats::new(words).add(Counter::PagesCompacted, pages));
}
