//! The keeper: a thread that works while the simulation computes. It returns memory to the system,
//! compacts scattered pages, audits planes, notices live memory that moves to another node, and
//! gathers small pages into huge ones.
//!
//! Observers release versions by a store to their lease, which wakes no thread. So the keeper scans
//! a few times a second. The work that it does under the lock of the store takes microseconds. It
//! punches holes and copies pages outside the lock.

mod audit;
mod bell;
mod huge;
mod memory;
mod nodes;

pub(crate) use huge::Gatherer;

use audit::audit;
use bell::{Bell, Call};
use huge::gather_planes;
use memory::return_memory;
use nodes::follow;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tcasm_core::format::stats::{Counter, Stats};
use tcasm_core::store::Store;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::heap;
use tcasm_core::sys::lock::Lock;
use tcasm_core::sys::thread;
use tcasm_core::testing::fault;

/// The duties of the keeper, and how often it does them.
#[derive(Debug)]
pub(crate) struct Duties {
    /// The time between two scans.
    period: Duration,
    /// The number of scans from one that returns, audits and compacts memory to the next. `None`
    /// if no scan does.
    memory: Option<u32>,
    /// Gathers live memory, which must outlive the thread. `None` if nothing is gathered.
    huge: Option<Gatherer>,
}

/// The time between two scans.
const PERIOD: Duration = Duration::from_millis(200);
/// The same in tests.
const SHORT: Duration = Duration::from_millis(1);

impl Duties {
    /// Does everything in each scan.
    pub(crate) fn usual(huge: Option<Gatherer>) -> Self {
        Duties {
            period: PERIOD,
            memory: Some(1),
            huge,
        }
    }

    /// Does the same as [`usual`](Self::usual), all the time. For tests.
    pub(crate) fn all_the_time(huge: Option<Gatherer>) -> Self {
        Duties {
            period: SHORT,
            ..Self::usual(huge)
        }
    }

    /// Gathers all the time, and does everything else as often as usual. For tests.
    pub(crate) fn gathering_often(huge: Option<Gatherer>) -> Self {
        Duties {
            period: SHORT,
            memory: Some((PERIOD.as_millis() / SHORT.as_millis()) as u32),
            huge,
        }
    }

    /// Gathers all the time, and does nothing else. For tests.
    pub(crate) fn only_gathering(huge: Option<Gatherer>) -> Self {
        Duties {
            period: SHORT,
            memory: None,
            huge,
        }
    }
}

/// The running keeper thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Keeper {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
    process: Process,
}

impl Keeper {
    /// Starts the thread, which scans `store`. `pinned` returns true if a lease names the version.
    pub(crate) fn start(
        store: Arc<Lock<Store>>,
        pinned: impl Fn(u64) -> bool + Send + 'static,
        mut duties: Duties,
    ) -> io::Result<Self> {
        let bell = Arc::new(Bell::default());
        let rung = bell.clone();
        let named = Builder::new().name("tcasm-keeper".into());
        let thread = thread::spawn(named, move || {
            let mut scans = Scans::default();
            let mut due = Instant::now() + duties.period;
            loop {
                match rung.wait(due) {
                    Call::Stop => return,
                    Call::Gather(ranges) => gather_now(&mut duties, ranges, &store),
                    Call::Scan => {
                        scans.scan(&mut duties, &store, &pinned);
                        due = Instant::now() + duties.period;
                    }
                }
            }
        })?;
        Ok(Keeper {
            bell,
            thread: Some(thread),
            process: Process::current(),
        })
    }

    /// Gathers `ranges` of addresses into huge pages soon, each of them only if all of its pages
    /// exist. Nothing happens where that is impossible.
    pub(crate) fn gather(&self, ranges: impl IntoIterator<Item = Range<usize>>) {
        self.bell.gather(ranges);
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
        self.bell.stop();
        let _ = thread.join();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Gathers `ranges` now, if that is a duty.
fn gather_now(duties: &mut Duties, ranges: Vec<Range<usize>>, store: &Lock<Store>) {
    if let Some(huge) = &mut duties.huge
        && has_heap(store)
    {
        ranges
            .into_iter()
            .for_each(|range| huge.gather_now(range, store));
    }
}

/// Returns true if there is enough heap for a scan. An allocation that fails would end the
/// simulation.
fn has_heap(store: &Lock<Store>) -> bool {
    let needed = store.lock().heap();
    heap::has(needed)
}

/// The scans until now: facts that the next one needs.
#[derive(Debug, Default)]
struct Scans {
    done: u32,
    strays: usize,
    refusal_logged: bool,
}

impl Scans {
    /// Does the work of one scan, if there is enough heap.
    fn scan(&mut self, duties: &mut Duties, store: &Lock<Store>, pinned: &impl Fn(u64) -> bool) {
        self.done = self.done.wrapping_add(1);
        if !has_heap(store) {
            return;
        }
        if duties.memory.is_some_and(|n| self.done.is_multiple_of(n)) {
            audit(store, &mut self.strays);
            follow(store, &mut self.refusal_logged);
            return_memory(store, pinned);
            compact(store);
        }
        if let Some(huge) = &mut duties.huge {
            huge.gather(store);
            gather_planes(store);
        }
    }
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
