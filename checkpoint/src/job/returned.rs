//! A job that has returned to an earlier step: later checkpoints are forgotten.

use super::collective::broadcast;
use super::error::JobError;
use super::messages::{Lost, Messages};
use super::record::Event;
use super::writer::{JobWriter, Last};

impl<M: Messages> JobWriter<M> {
    /// Says that the job continues from `step`, so that later checkpoints do not count as newer
    /// ones. [`recover`](Self::recover) does this itself. All nodes call it, and get the same: if
    /// the manifest cannot be written, the later checkpoints that it has stay known on all.
    pub fn continue_from(&mut self, step: u64) -> Result<(), JobError> {
        self.settle()?;
        let gone = self.forget_from(step.saturating_add(1))?;
        gone.map_err(|why| JobError::NotContinued { step, why })
    }

    /// Forgets `step` and later ones. The inner error says why node 0 cannot enter into the
    /// manifest that they are gone. Then those that it could not enter stay known on all nodes.
    fn forget_from(&mut self, step: u64) -> Result<Result<(), String>, Lost> {
        let told = (self.node() == 0).then(|| self.remove_from(step));
        let (from, removed): (u64, Result<(), String>) = broadcast(&mut self.messages, told)?;
        self.known.split_off(&from);
        let forgotten = |last: &Last| last.part.step >= from;
        self.last = self.last.take().filter(|last| !forgotten(last));
        Ok(removed)
    }

    /// Enters into the manifest that `step` and later ones are gone, newest first. Returns the step
    /// from which on that is so.
    fn remove_from(&mut self, step: u64) -> (u64, Result<(), String>) {
        let Some(manifest) = &mut self.manifest else {
            return (step, Ok(()));
        };
        let mut from = u64::MAX;
        for (later, _) in self.known.range(step..).rev() {
            match manifest.append(&Event::Removed { step: *later }) {
                Ok(()) => from = *later,
                Err(error) => return (from, Err(error.to_string())),
            }
        }
        (step, Ok(()))
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
        Ok(self.forget_from(step)?)
    }
}
