//! A job that has returned to an earlier step: later checkpoints are forgotten.

use super::collective::broadcast;
use super::error::JobError;
use super::messages::Messages;
use super::record::Event;
use super::writer::{JobWriter, Last};
use crate::error::WriteError;

impl<M: Messages> JobWriter<M> {
    /// Says that the job continues from `step`, so that later checkpoints do not count as newer
    /// ones. [`recover`](Self::recover) does this itself. All nodes call it.
    pub fn continue_from(&mut self, step: u64) -> Result<(), JobError> {
        let next = step.saturating_add(1);
        self.remove_from(next)?;
        self.forget_from(next);
        Ok(())
    }

    /// Enters into the manifest, on node 0, that `step` and later ones are gone.
    fn remove_from(&mut self, step: u64) -> Result<(), WriteError> {
        let Some(manifest) = &mut self.manifest else {
            return Ok(());
        };
        for (step, _) in self.known.range(step..).rev() {
            manifest.append(&Event::Removed { step: *step })?;
        }
        Ok(())
    }

    fn forget_from(&mut self, step: u64) {
        self.known.split_off(&step);
        let forgotten = |last: &Last| last.part.step >= step;
        self.last = self.last.take().filter(|last| !forgotten(last));
    }

    /// Forgets `step` if it is committed, because its files are going to be replaced: the job has
    /// returned to an earlier step, and has come to this one again. The inner error says why that
    /// may not be. All nodes call this, and get the same.
    pub(super) fn make_way_for(&mut self, step: u64) -> Result<Result<(), String>, JobError> {
        if !self.known.contains_key(&step) {
            return Ok(Ok(()));
        }
        if self.known.range(..step).next().is_none() {
            return Ok(Err(
                "it is committed already, and nothing else is there until a later step is"
                    .to_owned(),
            ));
        }
        let first = match self.node() {
            0 => Some(self.remove_from(step).map_err(|error| error.to_string())),
            _ => None,
        };
        let removed: Result<(), String> = broadcast(&mut self.messages, first)?;
        if removed.is_ok() {
            self.forget_from(step);
        }
        Ok(removed)
    }
}
