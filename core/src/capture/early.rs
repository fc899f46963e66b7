//! Counts the stores that wait for a sweep, and how long they wait.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The early stores of a sweep. Nothing here allocates or waits once it is created.
pub(super) struct Early {
    start: Instant,
    count: AtomicU64,
    ns: AtomicU64,
    /// When the first store came to each piece, in nanoseconds after `start`. 0: none came.
    since: Vec<AtomicU64>,
}

impl Early {
    /// Creates the counters of a sweep of so many pieces.
    pub fn new(pieces: usize) -> Self {
        Early {
            start: Instant::now(),
            count: AtomicU64::new(0),
            ns: AtomicU64::new(0),
            since: (0..pieces).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Records that a store waits until `piece` is released. `None`: for no piece of the sweep.
    pub fn came(&self, piece: Option<usize>) {
        self.count.fetch_add(1, Relaxed);
        if let Some(piece) = piece {
            // Other stores to the piece wait no longer than the first.
            let _ = self.since[piece].compare_exchange(0, self.now(), Relaxed, Relaxed);
        }
    }

    /// Records that `piece` was released. A store that is recorded just afterwards counts as one
    /// that has not waited.
    pub fn released(&self, piece: usize) {
        let since = self.since[piece].load(Relaxed);
        if since != 0 {
            let ns = self.now().saturating_sub(since);
            self.ns.fetch_add(ns, Relaxed);
        }
    }

    /// Returns how many stores there were, and how long the first to each piece waited, in all.
    pub fn total(&self) -> (u64, Duration) {
        let ns = self.ns.load(Relaxed);
        (self.count.load(Relaxed), Duration::from_nanos(ns))
    }

    /// Returns the time since the start in nanoseconds, at least 1.
    fn now(&self) -> u64 {
        (self.start.elapsed().as_nanos() as u64).max(1)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_store_to_each_piece_waits_until_the_piece_is_released() {
        let early = Early::new(3);
        let pause = Duration::from_millis(5);
        for piece in [Some(0), Some(0), Some(2), None] {
            early.came(piece);
        }
        std::thread::sleep(pause);
        assert_eq!(early.total(), (4, Duration::ZERO));
        early.released(0);
        early.released(1);
        let (_, once) = early.total();
        assert!(once >= pause, "{once:?}");
        std::thread::sleep(pause);
        early.released(2);
        let (stores, both) = early.total();
        assert_eq!(stores, 4);
        assert!(both >= once + 2 * pause, "{once:?}, {both:?}");
    }
}
