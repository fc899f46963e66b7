//! Compaction: a thread that makes a full checkpoint of a chain of increments, in place of the newest of them.
//!
//! It reads files only, no version. What builds on the increment builds on the full one as well, because it names the state and not
//! the file. All fields are in memory meanwhile.

use super::contents::{Contents, Entry};
use super::drain::{Shared, lock};
use crate::error::{ReadError, WriteError};
use crate::find::{self, Form};
use crate::{Checkpoint, Options, series, stored, write};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use thiserror::Error;

/// Why a chain stays as it is.
#[derive(Debug, Error)]
pub(super) enum CompactError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The thread. Dropped, it ends after the chain that it is at.
#[derive(Debug)]
pub struct Compactor {
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Compactor {
    /// Compact the newest chain of `tier` whenever it has `most` files or more; `done` is called after each time.
    pub fn start(
        tier: Shared,
        most: usize,
        options: Options,
        done: impl Fn() + Send + 'static,
    ) -> Result<Self, WriteError> {
        let (wake, woken) = channel();
        let work = move || {
            tcasm_core::sys::thread::set_background();
            while woken.recv().is_ok() {
                // What has come since is seen by the one look.
                while woken.try_recv().is_ok() {}
                look(&tier, most, &options, &done);
            }
        };
        let builder = std::thread::Builder::new().name("tcasm-compact".to_owned());
        Ok(Compactor {
            wake: Some(wake),
            thread: Some(builder.spawn(work).map_err(WriteError::Thread)?),
        })
    }

    /// There may be something to compact.
    pub fn wake(&self) {
        // It runs as long as the sender is there.
        let _ = self.wake.as_ref().map(|wake| wake.send(()));
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn look(tier: &Shared, most: usize, options: &Options, done: &impl Fn()) {
    let Some(entry) = due(lock(tier).contents(), most) else {
        return;
    };
    match compact(tier, &entry, options) {
        Ok(()) => done(),
        // The writer writes a full one itself when a chain is as long as may be.
        Err(error) => tracing::warn!(step = entry.step, %error, "a chain stays as it is"),
    }
}

/// The newest checkpoint, if it takes so many files to read it, and all are there.
fn due(contents: &Contents, most: usize) -> Option<Entry> {
    let newest = contents.newest()?;
    let item = contents.items.get(&newest)?;
    let is_due = contents.files(newest) >= most && contents.is_whole(newest);
    is_due.then(|| item.entry.clone())
}

pub(super) fn compact(tier: &Shared, entry: &Entry, options: &Options) -> Result<(), CompactError> {
    let (increment, full) = {
        let tier = lock(tier);
        let name = find::file_name(tier.name(), entry.step, Form::Full(options.layout));
        (tier.path(entry), tier.dir().join(name))
    };
    let loaded = Checkpoint::open(increment)?.load()?;
    let unsealed = write::begin(&full, &loaded.snapshot(), &entry.id, options)?;
    drop(loaded);
    let header = unsealed.seal()?;
    let mut tier = lock(tier);
    let known = tier.contents().items.get(&entry.step);
    if known.is_none_or(|item| !item.entry.is_same_file(entry)) {
        // Replaced or removed meanwhile.
        return Ok(());
    }
    let bytes = unsealed.commit()?;
    tcasm_core::fault::pass("compacted");
    tier.complete(stored::entry(&full, header, bytes))?;
    Ok(series::update(&mut tier)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::test::written;
    use std::sync::{Arc, Mutex};

    #[test]
    fn what_was_replaced_meanwhile_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let mut tier = written(dir.path(), 1);
        let old = tier.contents().items[&1].entry.clone();
        let seal = "another".to_owned();
        let new = Entry {
            seal,
            ..old.clone()
        };
        tier.complete(new.clone()).unwrap();
        let before = std::fs::read(tier.path(&old)).unwrap();
        let tier: Shared = Arc::new(Mutex::new(tier));
        let options = Options {
            layout: crate::Layout::OpenPmd,
            ..Options::default()
        };
        compact(&tier, &old, &options).unwrap();
        assert_eq!(lock(&tier).contents().items[&1].entry, new);
        assert_eq!(std::fs::read(lock(&tier).path(&old)).unwrap(), before);
        assert!(!dir.path().join("run_00000001.h5").exists());
    }
}
