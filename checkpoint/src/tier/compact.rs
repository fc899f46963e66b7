//! Compaction of chains: a thread that replaces the newest increment of a chain by a full
//! checkpoint.
//!
//! The thread takes the state from files, so it pins no version. The other files of the chain stay
//! until retention removes them. Increments on the replaced one stay valid,
//! because they name the state of their base and not its file. All fields are in memory during a
//! compaction.

use super::contents::{Contents, Entry};
use super::shared::{Shared, lock};
use super::stored;
use crate::error::{ReadError, WriteError};
use crate::format::names::{self, Form};
use crate::options::{Options, Purpose};
use crate::read::Checkpoint;
use crate::write;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use thiserror::Error;

/// The error that prevented a compaction.
#[derive(Debug, Error)]
pub(super) enum CompactError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// A handle to the compaction thread. Dropping it waits for the chain that the thread is working
/// on, and for one more if the thread was woken meanwhile.
#[derive(Debug)]
pub struct Compactor {
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Compactor {
    /// Starts a thread. Each time it is woken, it compacts the newest chain of `tier` if that chain
    /// has `most` files or more. It calls `done` after each success.
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
                // One pass covers all requests that have arrived since.
                while woken.try_recv().is_ok() {}
                compact_newest(&tier, most, &options, &done);
            }
        };
        let builder = std::thread::Builder::new().name("tcasm-compact".to_owned());
        Ok(Compactor {
            wake: Some(wake),
            thread: Some(builder.spawn(work).map_err(WriteError::Thread)?),
        })
    }

    /// Wakes the thread, because there may be a chain to compact.
    pub fn wake(&self) {
        // The thread runs as long as the sender exists, so this cannot fail.
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

/// Compacts the newest chain of `tier` if it is long enough.
fn compact_newest(tier: &Shared, most: usize, options: &Options, done: &impl Fn()) {
    let Some(entry) = due(lock(tier).contents(), most) else {
        return;
    };
    match compact(tier, &entry, options) {
        Ok(()) => done(),
        // This is not fatal: the writer writes a full checkpoint itself when a chain has its
        // largest length.
        Err(error) => tracing::warn!(step = entry.step, %error, "a chain was not compacted"),
    }
}

/// Returns the newest checkpoint if reading it takes at least `most` files, all of which are there.
fn due(contents: &Contents, most: usize) -> Option<Entry> {
    let newest = contents.newest()?;
    let item = contents.items.get(&newest)?;
    let is_due = contents.files(newest) >= most && contents.is_whole(newest);
    is_due.then(|| item.entry.clone())
}

/// Writes a full checkpoint in place of the increment `entry`, unless that was replaced or removed
/// meanwhile.
pub(super) fn compact(tier: &Shared, entry: &Entry, options: &Options) -> Result<(), CompactError> {
    let (increment, full) = {
        let tier = lock(tier);
        let name = names::file_name(tier.name(), entry.step, Form::Full(options.layout));
        let full = tier.dir().join(name);
        tier.check_free(&full)?;
        (tier.path(entry), full)
    };
    let loaded = Checkpoint::open(increment)?.load()?;
    let unsealed = write::begin(
        &full,
        &loaded.snapshot(),
        &entry.id,
        options,
        Purpose::Restart,
    )?;
    drop(loaded);
    let header = unsealed.seal()?;
    let mut tier = lock(tier);
    let known = tier.contents().items.get(&entry.step);
    if known.is_none_or(|item| !item.entry.is_same_file(entry)) {
        // The increment was replaced or removed meanwhile.
        return Ok(());
    }
    tier.check_free(&full)?;
    let bytes = unsealed.commit()?;
    tcasm_core::testing::fault::pass("compacted");
    tier.complete(stored::entry(&full, header, bytes))?;
    Ok(tier.update_list()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::test::written;
    use std::sync::{Arc, Mutex};

    #[test]
    fn compaction_does_not_replace_a_file_of_another_program() {
        let dir = tempfile::tempdir().unwrap();
        let tier = written(dir.path(), 1);
        let entry = tier.contents().items[&1].entry.clone();
        let theirs = dir.path().join("run_00000001.h5");
        std::fs::write(&theirs, "of another program").unwrap();
        let tier: Shared = Arc::new(Mutex::new(tier));
        let options = Options {
            layout: crate::Layout::OpenPmd,
            ..Options::default()
        };
        let error = compact(&tier, &entry, &options).unwrap_err();
        let refused = |e: &CompactError| matches!(e, CompactError::Write(WriteError::Exists(_)));
        assert!(refused(&error), "{error}");
        assert_eq!(std::fs::read(&theirs).unwrap(), b"of another program");
        assert_eq!(lock(&tier).contents().items[&1].entry, entry);
    }

    #[test]
    fn checkpoint_that_is_replaced_during_compaction_is_kept() {
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
