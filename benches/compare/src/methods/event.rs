//! "There is something new", for methods that have no wake-up of their own.

use crate::failure::Failure;
use crate::sys::futex;
use crate::sys::memory::Memory;
use crate::workload::PAGE;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A page of words; the first is an event counter that can be waited for, the second says what is newest.
pub struct Event(Memory);

impl Event {
    /// A new one.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        Ok(Event(Memory::create(path, PAGE)?.0))
    }

    /// That of a producer.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Memory::open(path, true).map(Event)
    }

    /// A word for the method's own use.
    pub fn word(&self, i: usize) -> &AtomicU64 {
        &self.0.words()[2 + i]
    }

    /// What was announced last; 0 before anything was.
    pub fn newest(&self) -> u64 {
        self.0.words()[1].load(SeqCst)
    }

    /// Say that `newest` is there, and wake who waits.
    pub fn announce(&self, newest: u64) {
        self.0.words()[1].store(newest, SeqCst);
        futex::advance(&self.0.words()[0]);
    }

    /// Wait until `look` finds something, which it can only after an announcement.
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
