//! The method "file-asm" of Akkan, Ionkov and Lang: each version is written to a new file, which
//! then takes the name of the old file. An old file exists as long as observers have it mapped.

use super::event::Event;
use super::method::{Method, Sink, Source};
use crate::case::Case;
use crate::failure::{Failure, While};
use crate::sys::memory::Memory;
use crate::workload::PAGE;
use std::fs::{File, rename};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

pub struct FileAsm;

struct FileSource {
    live: Memory,
    event: Event,
    next: PathBuf,
    current: PathBuf,
}

struct FileSink {
    event: Event,
    current: PathBuf,
    held: Option<Memory>,
}

impl Method for FileAsm {
    fn name(&self) -> &'static str {
        "file-asm"
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        Ok(Box::new(FileSource {
            live: Memory::private(case.bytes())?,
            event: Event::create(&case.path("event"))?,
            next: case.path("next"),
            current: case.path("current"),
        }))
    }

    fn sink(&self, case: &Case, _: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        Ok(Some(Box::new(FileSink {
            event: Event::open(&case.path("event"))?,
            current: case.path("current"),
            held: None,
        })))
    }
}

impl Source for FileSource {
    fn memory(&mut self) -> &mut [u8] {
        self.live.bytes_mut()
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        let mut file = File::create(&self.next).context("creating the next version's file")?;
        let mut last = [0; PAGE];
        last[..8].copy_from_slice(&step.to_le_bytes());
        let written = file
            .write_all(self.live.bytes())
            .and_then(|()| file.write_all(&last));
        written.context("writing the next version's file")?;
        rename(&self.next, &self.current).context("renaming the next version's file")?;
        self.event.announce(step + 1);
        Ok(true)
    }
}

impl Sink for FileSink {
    fn take(&mut self, after: Option<u64>, timeout: Duration) -> Result<Option<u64>, Failure> {
        let FileSink {
            event,
            current,
            held,
        } = self;
        event.wait(timeout, || {
            let newest = event.newest().checked_sub(1);
            if newest.is_none_or(|n| after.is_some_and(|a| n <= a)) {
                return Ok(None);
            }
            // The file that has the name now may be newer than `newest`. Its last page holds its
            // step.
            let file = Memory::open(current, false)?;
            let words = file.words();
            let step = words[words.len() - PAGE / 8].load(std::sync::atomic::Ordering::Relaxed);
            *held = Some(file);
            Ok(Some(u64::from_le(step)))
        })
    }

    fn bytes(&self) -> Result<&[u8], Failure> {
        let file = self.held.as_ref().map_or(&[][..], Memory::bytes);
        Ok(&file[..file.len().saturating_sub(PAGE)])
    }

    fn release(&mut self) -> Result<(), Failure> {
        self.held = None;
        Ok(())
    }
}
