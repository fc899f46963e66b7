//! The method "lock": one shared buffer with a lock between processes. Nothing is copied, but the
//! writer waits for readers.

use super::event::Event;
use super::method::{Method, Sink, Source};
use crate::case::Case;
use crate::failure::Failure;
use crate::sys::memory::Memory;
use crate::sys::rwlock::SharedLock;
use crate::workload::PAGE;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

pub struct Lock;

struct LockSource {
    live: Memory,
    lock: Memory,
    event: Event,
}

struct LockSink {
    live: Memory,
    lock: Memory,
    event: Event,
}

impl Method for Lock {
    fn name(&self) -> &'static str {
        "lock"
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        let source = LockSource {
            live: Memory::create(&case.path("live"), case.bytes())?.0,
            lock: Memory::create(&case.path("lock"), PAGE)?.0,
            event: Event::create(&case.path("event"))?,
        };
        SharedLock::new(&source.lock).initialise()?;
        Ok(Box::new(source))
    }

    fn sink(&self, case: &Case, _: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        Ok(Some(Box::new(LockSink {
            live: Memory::open(&case.path("live"), false)?,
            lock: Memory::open(&case.path("lock"), true)?,
            event: Event::open(&case.path("event"))?,
        })))
    }
}

impl Source for LockSource {
    fn memory(&mut self) -> &mut [u8] {
        self.live.bytes_mut()
    }

    fn begin(&mut self, _: &[usize]) -> Result<(), Failure> {
        SharedLock::new(&self.lock).write()
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        // The lock protects the step as well, so it is stored before the release.
        self.event.word(0).store(step, SeqCst);
        SharedLock::new(&self.lock).release()?;
        self.event.announce(step + 1);
        Ok(true)
    }
}

impl LockSink {
    /// Locks for reading if there is a version newer than that of step `after`. Returns its step.
    fn try_take(&self, after: Option<u64>) -> Result<Option<u64>, Failure> {
        let newer = |step: &u64| after.is_none_or(|a| *step > a);
        if self.event.newest().checked_sub(1).filter(newer).is_none() {
            return Ok(None);
        }
        let lock = SharedLock::new(&self.lock);
        lock.read()?;
        Ok(Some(self.event.word(0).load(SeqCst)))
    }
}

impl Sink for LockSink {
    fn take(&mut self, after: Option<u64>, timeout: Duration) -> Result<Option<u64>, Failure> {
        self.event.wait(timeout, || self.try_take(after))
    }

    fn bytes(&self) -> Result<&[u8], Failure> {
        Ok(self.live.bytes())
    }

    fn release(&mut self) -> Result<(), Failure> {
        SharedLock::new(&self.lock).release()
    }
}
