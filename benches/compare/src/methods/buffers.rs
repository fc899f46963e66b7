//! Three shared buffers that take turns: the newest version, one that observers may still read, one to write next.
//!
//! An observer stores the buffer it wants in its pin word and looks again whether that buffer is still the newest; the
//! writer takes a buffer that is not the newest and that no pin names. Both orders are sequentially consistent, so one of
//! the two sees the other.

use super::event::Event;
use super::{Sink, Source};
use crate::case::Case;
use crate::failure::Failure;
use crate::score::MAX_OBSERVERS;
use crate::sys::memory::Memory;
use crate::workload::PAGE;
use std::fs::File;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

const BUFFERS: usize = 3;

/// The writer's side.
pub struct Buffers {
    event: Event,
    memory: Vec<(Memory, File)>,
    /// Pages in which a buffer differs from live memory, a bit each.
    stale: Vec<Vec<u64>>,
}

impl Buffers {
    /// Buffers for the case, all of them to be filled.
    pub fn create(case: &Case) -> Result<Self, Failure> {
        let create = |i| Memory::create(&buffer_path(case, i), case.bytes());
        let words = case.workload.pages.div_ceil(64);
        Ok(Buffers {
            event: Event::create(&case.path("event"))?,
            memory: (0..BUFFERS).map(create).collect::<Result<_, _>>()?,
            stale: vec![vec![u64::MAX; words]; BUFFERS],
        })
    }

    /// These pages of live memory have changed.
    pub fn changed(&mut self, pages: &[u64]) {
        for stale in &mut self.stale {
            for (word, new) in stale.iter_mut().zip(pages) {
                *word |= new;
            }
        }
    }

    /// A buffer that nobody reads.
    pub fn free(&self) -> Option<usize> {
        let newest = self.newest();
        let pinned =
            |b: usize| (0..MAX_OBSERVERS).any(|o| self.event.word(o).load(SeqCst) == b as u64 + 1);
        (0..BUFFERS).find(|b| Some(*b) != newest && !pinned(*b))
    }

    fn newest(&self) -> Option<usize> {
        decode(self.event.newest()).map(|(_, buffer)| buffer)
    }

    /// Copy into `buffer` all of `live`.
    pub fn fill(&mut self, buffer: usize, live: &[u8]) {
        self.memory[buffer].0.bytes_mut().copy_from_slice(live);
    }

    /// Copy into `buffer` the pages of `live` in which it differs.
    pub fn renew(&mut self, buffer: usize, live: &[u8]) {
        let stale = &mut self.stale[buffer];
        let to = self.memory[buffer].0.bytes_mut();
        let pages = live.len() / PAGE;
        let is_stale = |page: usize| stale[page / 64] >> (page % 64) & 1 != 0;
        let mut page = 0;
        while page < pages {
            let end = (page..pages).find(|p| !is_stale(*p)).unwrap_or(pages);
            to[page * PAGE..end * PAGE].copy_from_slice(&live[page * PAGE..end * PAGE]);
            page = (end..pages).find(|p| is_stale(*p)).unwrap_or(pages);
        }
        stale.fill(0);
    }

    /// Offer `buffer` as the version of `step`.
    pub fn show(&self, buffer: usize, step: u64) {
        self.event.announce(encode(step, buffer));
    }

    /// The file of a buffer.
    pub fn file(&self, buffer: usize) -> &File {
        &self.memory[buffer].1
    }
}

/// An observer of the buffers.
pub struct BufferSink {
    event: Event,
    memory: Vec<Memory>,
    observer: usize,
    held: Option<usize>,
}

impl BufferSink {
    /// Attach.
    pub fn open(case: &Case, observer: usize) -> Result<Box<dyn Sink>, Failure> {
        let open = |i| Memory::open(&buffer_path(case, i), false);
        Ok(Box::new(BufferSink {
            event: Event::open(&case.path("event"))?,
            memory: (0..BUFFERS).map(open).collect::<Result<_, _>>()?,
            observer,
            held: None,
        }))
    }

    /// Pin the newest version, if it is newer.
    fn pin(&self, after: Option<u64>) -> Option<(u64, usize)> {
        let pin = self.event.word(self.observer);
        loop {
            let newest = self.event.newest();
            let (step, buffer) = decode(newest)?;
            if after.is_some_and(|a| a >= step) {
                return None;
            }
            pin.store(buffer as u64 + 1, SeqCst);
            if self.event.newest() == newest {
                return Some((step, buffer));
            }
            pin.store(0, SeqCst);
        }
    }
}

impl Sink for BufferSink {
    fn take(&mut self, after: Option<u64>, timeout: Duration) -> Result<Option<u64>, Failure> {
        let pinned = self.event.wait(timeout, || Ok(self.pin(after)))?;
        self.held = pinned.map(|(_, buffer)| buffer);
        Ok(pinned.map(|(step, _)| step))
    }

    fn bytes(&self) -> Result<&[u8], Failure> {
        Ok(self.held.map_or(&[], |buffer| self.memory[buffer].bytes()))
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.held = None;
        self.event.word(self.observer).store(0, SeqCst);
        Ok(())
    }
}

/// A source whose live memory is the simulation's own, and whose `publish` copies some of it into a free buffer.
pub struct CopySource<F> {
    /// Live memory.
    pub live: Memory,
    /// The buffers.
    pub buffers: Buffers,
    /// Bring a free buffer up to date.
    pub copy: F,
}

impl<F> Source for CopySource<F>
where
    F: FnMut(&mut Buffers, usize, &mut Memory) -> Result<(), Failure>,
{
    fn memory(&mut self) -> &mut [u8] {
        self.live.bytes_mut()
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        let Some(buffer) = self.buffers.free() else {
            return Ok(false);
        };
        (self.copy)(&mut self.buffers, buffer, &mut self.live)?;
        self.buffers.show(buffer, step);
        Ok(true)
    }
}

fn buffer_path(case: &Case, i: usize) -> std::path::PathBuf {
    case.path(format!("buffer{i}"))
}

/// Step and buffer in one word, never 0.
fn encode(step: u64, buffer: usize) -> u64 {
    (step + 1) << 8 | buffer as u64
}

fn decode(word: u64) -> Option<(u64, usize)> {
    (word > 0).then(|| ((word >> 8) - 1, (word & 0xff) as usize % BUFFERS))
}
