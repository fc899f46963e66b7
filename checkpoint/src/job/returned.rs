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
        let removed = self.remove_for_all(step.saturating_add(1))?;
        removed.map_err(|why| JobError::NotContinued { step, why })
    }

    /// Forgets `step` and later ones, if node 0 can enter that into the manifest. All nodes call
    /// this, and get the same.
    fn remove_for_all(&mut self, step: u64) -> Result<Result<(), String>, JobError> {
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
        self.remove_for_all(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::retention::Known;
    use crate::job::{Channels, JobSettings, channels};
    use std::path::Path;

    /// Returns the error of a return to step 10 that node 0 cannot enter into the manifest.
    fn fails(root: &Path, messages: Channels) -> JobError {
        let dir = root.join(messages.node().to_string());
        std::fs::create_dir(&dir).unwrap();
        let settings = JobSettings::new("heat", dir, root);
        let group = messages.node().to_string();
        let mut writer = JobWriter::connect(settings, &group, messages).unwrap();
        let known = Known {
            base: None,
            drained: false,
        };
        writer.known.insert(20, known);
        if let Some(manifest) = &mut writer.manifest {
            manifest.make_read_only();
        }
        let error = writer.continue_from(10).unwrap_err();
        assert!(writer.known.contains_key(&20), "all nodes know the same");
        error
    }

    #[test]
    fn return_to_a_step_that_node_0_cannot_note_is_an_error_on_all_nodes() {
        let root = tempfile::tempdir().unwrap();
        let errors: Vec<JobError> = std::thread::scope(|scope| {
            let root = root.path();
            let start = |messages| scope.spawn(move || fails(root, messages));
            let threads: Vec<_> = channels(2).into_iter().map(start).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        for error in errors {
            assert!(
                matches!(error, JobError::NotContinued { step: 10, .. }),
                "{error}"
            );
        }
    }
}
