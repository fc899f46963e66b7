//! Three shared buffers that take turns. One holds the newest version, one may still be read by
//! observers, and one is written next.
//!
//! An observer stores the number of a buffer in its pin word. Then it checks that this buffer is
//! still the newest. The writer takes a buffer that is not the newest and that no pin word names.
//! All these operations are sequentially consistent, so at least one side sees what the other
//! stored.

use super::event::Event;
use super::method::{Sink, Source};
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
    /// For each buffer, the pages in which it differs from live memory, one bit for each.
    stale: Vec<Vec<u64>>,
}

impl Buffers {
    /// Creates the buffers of the case. All their pages are out of date.
    pub fn create(case: &Case) -> Result<Self, Failure> {
        let create = |i| Memory::create(&buffer_path(case, i), case.bytes());
        let words = case.workload.pages.div_ceil(64);
        Ok(Buffers {
            event: Event::create(&case.path("event"))?,
            memory: (0..BUFFERS).map(create).collect::<Result<_, _>>()?,
            stale: vec![vec![u64::MAX; words]; BUFFERS],
        })
    }

    /// Records that these pages of live memory have changed.
    pub fn changed(&mut self, pages: &[u64]) {
        for stale in &mut self.stale {
            for (word, new) in stale.iter_mut().zip(pages) {
                *word |= new;
            }
        }
    }

    /// Returns a buffer that is not the newest and that no observer reads. Returns none if there is
    /// no such buffer.
    pub fn free(&self) -> Option<usize> {
        let newest = self.newest();
        let pinned =
            |b: usize| (0..MAX_OBSERVERS).any(|o| self.event.word(o).load(SeqCst) == b as u64 + 1);
        (0..BUFFERS).find(|b| Some(*b) != newest && !pinned(*b))
    }

    fn newest(&self) -> Option<usize> {
        decode(self.event.newest()).map(|(_, buffer)| buffer)
    }

    /// Copies all of `live` into `buffer`.
    pub fn fill(&mut self, buffer: usize, live: &[u8]) {
        self.memory[buffer].0.bytes_mut().copy_from_slice(live);
    }

    /// Copies into `buffer` those pages of `live` in which the buffer is out of date.
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

    /// Makes `buffer` visible as the version of `step`.
    pub fn show(&self, buffer: usize, step: u64) {
        self.event.announce(encode(step, buffer));
    }

    /// Returns the file of a buffer.
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
    /// Attaches observer `observer` to the buffers of the case.
    pub fn open(case: &Case, observer: usize) -> Result<Box<dyn Sink>, Failure> {
        let open = |i| Memory::open(&buffer_path(case, i), false);
        Ok(Box::new(BufferSink {
            event: Event::open(&case.path("event"))?,
            memory: (0..BUFFERS).map(open).collect::<Result<_, _>>()?,
            observer,
            held: None,
        }))
    }

    /// Pins the newest version if it is newer than that of step `after`. Returns its step and
    /// buffer.
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

/// A source with private live memory. Its `publish` copies live memory, or a part of it, into a
/// free buffer.
pub struct CopySource<F> {
    /// Live memory.
    pub live: Memory,
    /// The buffers.
    pub buffers: Buffers,
    /// Function that brings a free buffer up to date.
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

/// Encodes step and buffer in one word, which is never 0.
fn encode(step: u64, buffer: usize) -> u64 {
    (step + 1) << 8 | buffer as u64
}

fn decode(word: u64) -> Option<(u64, usize)> {
    (word > 0).then(|| ((word >> 8) - 1, (word & 0xff) as usize % BUFFERS))
}
