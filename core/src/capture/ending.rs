//! How a sweep ends. Small, because receipts of publish keep it as long as the program keeps them.

use crate::sys::futex;
use crate::sys::time::deadline;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

/// The state of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Some pieces are not saved yet.
    Running,
    /// All pieces are saved, and the finish function has succeeded.
    Saved,
    /// The sweep was given up, for this reason. Nothing that it saved counts.
    GivenUp(String),
}

/// The outcome of a sweep, once there is one, and a place to wait for it. There is no lock, because
/// a thread that holds one could be waiting for a piece, in a signal handler.
#[derive(Debug, Default)]
pub struct Ending {
    outcome: OnceLock<Outcome>,
    /// Not 0 once there is an outcome. Threads that wait for the outcome sleep on it.
    ended: AtomicU64,
}

impl Ending {
    /// Sets the outcome, and wakes the threads that wait for it. Only the first call counts.
    pub(super) fn set(&self, outcome: Outcome) {
        let _ = self.outcome.set(outcome);
        self.ended.store(1, SeqCst);
        futex::wake_private(&self.ended);
    }

    /// Returns the state of the sweep.
    pub fn state(&self) -> Outcome {
        self.outcome.get().cloned().unwrap_or(Outcome::Running)
    }

    /// Waits until the sweep has ended, for at most `timeout`. Returns its state.
    pub fn wait(&self, timeout: Duration) -> Outcome {
        let end = deadline(timeout);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if self.ended.load(SeqCst) != 0 || left.is_zero() {
                return self.state();
            }
            futex::wait_private(&self.ended, 0, left);
        }
    }
}
