//! A method that is wrong on purpose: observers read the buffer in which the simulation computes.
//! It is for tests only. The comparison must detect the error.

use super::event::Event;
use super::method::{Method, Sink, Source};
use crate::case::Case;
use crate::failure::Failure;
use crate::sys::memory::Memory;
use std::time::Duration;

pub struct Torn;

struct TornSource {
    live: Memory,
    event: Event,
}

struct TornSink {
    live: Memory,
    event: Event,
}

impl Method for Torn {
    fn name(&self) -> &'static str {
        "torn"
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        Ok(Box::new(TornSource {
            live: Memory::create(&case.path("live"), case.bytes())?.0,
            event: Event::create(&case.path("event"))?,
        }))
    }

    fn sink(&self, case: &Case, _: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        Ok(Some(Box::new(TornSink {
            live: Memory::open(&case.path("live"), false)?,
            event: Event::open(&case.path("event"))?,
        })))
    }
}

impl Source for TornSource {
    fn memory(&mut self) -> &mut [u8] {
        self.live.bytes_mut()
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        self.event.announce(step + 1);
        Ok(true)
    }
}

impl Sink for TornSink {
    fn take(&mut self, after: Option<u64>, timeout: Duration) -> Result<Option<u64>, Failure> {
        self.event.wait(timeout, || {
            let newest = self.event.newest().checked_sub(1);
            Ok(newest.filter(|n| after.is_none_or(|a| *n > a)))
        })
    }

    fn bytes(&self) -> Result<&[u8], Failure> {
        // This delay is intended. After it, later steps are being written.
        std::thread::sleep(Duration::from_micros(300));
        Ok(self.live.bytes())
    }

    fn release(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
