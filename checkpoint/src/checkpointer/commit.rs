//! Committing: a filled checkpoint is sealed, brought to the disk and entered into the manifest.

use super::report::Written;
use super::writer::{Checkpointer, Filled, Last};
use crate::error::WriteError;
use crate::snapshot::Snapshot;
use crate::tier::shared::lock;
use crate::tier::stored;
use std::path::PathBuf;
use tcasm_core::testing::fault;

impl Checkpointer {
    /// Writes all of `snapshot` and lists it. A checkpoint that is on the disk counts as written
    /// even if the list could not be updated. In this case [`Counters::last_error`] holds the
    /// error, and the next checkpoint lists both.
    ///
    /// [`Counters::last_error`]: crate::Counters::last_error
    pub fn write(&mut self, snapshot: &Snapshot<'_>) -> Result<Written, WriteError> {
        let filled = self.fill(snapshot)?;
        self.commit(filled)
    }

    /// Completes a filled checkpoint: seals it, brings it to the disk and enters it into the
    /// manifest.
    pub fn commit(&mut self, filled: Filled) -> Result<Written, WriteError> {
        let (step, start, direct) = (filled.step, filled.start, filled.unsealed.direct());
        let committed = self.try_commit(filled);
        let (path, bytes) = committed.inspect_err(|error| self.note(step, error))?;
        self.counters.written += 1;
        self.counters.bytes += bytes;
        self.failing = None;
        if let Err(error) = self.put_in_order() {
            tracing::warn!("the folder of checkpoints is not in order: {error}");
            self.counters.last_error = Some(error.to_string());
        }
        if let Some(drain) = &self.drain {
            drain.wake();
        }
        if let Some(compactor) = &self.compactor {
            compactor.wake();
        }
        Ok(Written {
            path,
            bytes,
            direct,
            duration: start.elapsed(),
        })
    }

    /// Completes a filled checkpoint. Returns its path and its size.
    fn try_commit(&mut self, filled: Filled) -> Result<(PathBuf, u64), WriteError> {
        let path = filled.unsealed.path().to_owned();
        fault::pass("filled");
        let header = self.with_room(|| filled.unsealed.seal())?;
        // Another program may have written a file of this name meanwhile.
        lock(&self.fast).check_free(&path)?;
        // From here on, the file may have its name but no line in the manifest.
        self.unentered = true;
        let bytes = filled.unsealed.commit()?;
        fault::pass("named");
        let entry = stored::entry(&path, header, bytes);
        self.with_room(|| lock(&self.fast).complete(entry.clone()))?;
        self.unentered = false;
        fault::pass("entered");
        let table = filled.table;
        self.last = Some(Last { entry, table });
        Ok((path, bytes))
    }

    /// Applies retention, and updates the list.
    fn put_in_order(&self) -> Result<(), WriteError> {
        let mut tier = lock(&self.fast);
        if let Some(last) = self.last.as_ref().filter(|_| self.settings.replace_later) {
            tier.supersede(last.entry.step)?;
        }
        tier.apply_retention(&self.settings.keep, self.drain.is_some())?;
        tier.update_list()
    }
}
