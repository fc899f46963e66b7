//! Announces new versions, for methods that have no wake-up of their own.

use crate::failure::Failure;
use crate::sys::futex;
use crate::sys::memory::Memory;
use crate::workload::PAGE;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A shared page of words. The first word is an event counter that observers can wait for. The
/// second names the newest version. The other words are for the method.
pub struct Event(Memory);

impl Event {
    /// Creates the page as a file at `path`.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        Ok(Event(Memory::create(path, PAGE)?.0))
    }

    /// Opens the page of a producer.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Memory::open(path, true).map(Event)
    }

    /// Returns word `i` of those that are for the method's own use.
    pub fn word(&self, i: usize) -> &AtomicU64 {
        &self.0.words()[2 + i]
    }

    /// Returns the value that was announced last, or 0 if there was none.
    pub fn newest(&self) -> u64 {
        self.0.words()[1].load(SeqCst)
    }

    /// Stores `newest`, and wakes all threads that wait.
    pub fn announce(&self, newest: u64) {
        self.0.words()[1].store(newest, SeqCst);
        futex::advance(&self.0.words()[0]);
    }

    /// Calls `look` now and after each announcement, until it returns a value. Returns none after
    /// `timeout`.
    pub fn wait<T>(
        &self,
        timeout: Duration,
        mut look: impl FnMut() -> Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        let deadline = Instant::now() + timeout;
        loop {
            let seen = self.0.words()[0].load(SeqCst);
            let found = look()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if found.is_some() || left.is_zero() {
                return Ok(found);
            }
            futex::wait(&self.0.words()[0], seen, left);
        }
    }
}
