//! What follows a commit on each node: copies to the slow tier, and retention.

use super::collective::{broadcast, gather};
use super::error::JobError;
use super::hashed;
use super::manifest::Manifest;
use super::messages::Messages;
use super::names;
use super::record::{Event, Part};
use super::retention::{Known, is_due, kept};
use super::vtkhdf;
use super::writer::JobWriter;
use crate::error::WriteError;
use crate::file::Fault;
use crate::tier::copy::{Pace, copy};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use tcasm_core::testing::fault;

impl<M: Messages> JobWriter<M> {
    /// Notes that `step`, which was prepared last, is committed. Copies it to the slow tier if that
    /// is due, and removes checkpoints that are no longer kept. All nodes call this for the same
    /// steps in the same order, as the rounds of their agents tell them.
    ///
    /// An error of the copy or of the removal does not make the step less committed.
    pub fn committed(&mut self, step: u64) -> Result<(), JobError> {
        let Some(last) = self.take_pending(step) else {
            return Ok(());
        };
        let base = last.part.base;
        self.known.split_off(&step);
        let known = Known {
            base,
            drained: false,
        };
        self.known.insert(step, known);
        self.undrained += 1;
        self.last = Some(last);
        fault::pass("job-noted");
        let in_place = self.settings.local == self.settings.slow;
        let due = in_place || is_due(self.undrained, self.settings.drain_every);
        let drained = if due { self.drain(step) } else { Ok(()) };
        let retained = self.retain();
        self.shorten_manifest();
        match drained {
            // Some nodes may have left what all do together, so nothing else counts.
            Err(JobError::Lost(lost)) => Err(lost.into()),
            drained => retained.and(drained),
        }
    }

    /// Notes the step that was prepared last if it is committed and no round has shown that: the
    /// job was started again meanwhile, and the rounds are those of the next run. All nodes call
    /// this before they prepare another step.
    pub(super) fn settle(&mut self) -> Result<(), JobError> {
        let own = (self.node() == 0).then(|| self.unnoted());
        let step: Option<u64> = broadcast(&mut self.messages, own)?;
        let noted = step.map_or(Ok(()), |step| self.committed(step));
        self.pending = None;
        match noted {
            Err(JobError::Lost(error)) => Err(error.into()),
            Err(error) => {
                tracing::warn!("after the commit of step {step:?}: {error}");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Returns the step that was prepared last, if the manifest has it, on node 0.
    fn unnoted(&self) -> Option<u64> {
        let part = &self.pending.as_ref()?.part;
        let found = self.manifest.as_ref()?.contents().steps.get(&part.step)?;
        let committed = found.commit.part(part.node)?;
        (committed.id == part.id).then_some(part.step)
    }

    /// Removes lines from the manifest that say nothing any more, on node 0.
    fn shorten_manifest(&mut self) {
        let shortened = self.manifest.as_mut().map(Manifest::shorten);
        // It is whole, and this is tried again after the next commit.
        if let Some(Err(error)) = shortened {
            tracing::warn!("the manifest stays as long as it is: {error}");
        }
    }

    /// Copies a step to the slow tier on all nodes. It is drained when all have done so.
    fn drain(&mut self, step: u64) -> Result<(), JobError> {
        let copied = self.copy(step).map_err(|e| e.to_string());
        fault::pass("job-copied");
        let votes = gather(&mut self.messages, copied)?;
        let drained = votes.map(|votes| self.note_drained(step, votes));
        let drained: Result<(), String> = broadcast(&mut self.messages, drained)?;
        match drained {
            Ok(()) => {
                self.undrained = 0;
                self.known
                    .entry(step)
                    .and_modify(|known| known.drained = true);
                Ok(())
            }
            Err(why) => Err(JobError::NotDrained { step, why }),
        }
    }

    /// Copies the files of this node that the checkpoint of `step` is read from.
    fn copy(&self, step: u64) -> Result<(), JobError> {
        let (local, slow) = (&self.settings.local, &self.settings.slow);
        if local == slow {
            return Ok(());
        }
        let base = |step: &u64| self.known.get(step)?.base;
        let steps: BTreeSet<u64> = std::iter::successors(Some(step), base).collect();
        let parts = self.prepared.parts.iter();
        for part in parts.filter(|part| steps.contains(&part.step)) {
            let to = slow.join(&part.file.file);
            if hashed::check(&to, &part.file).is_ok() {
                continue;
            }
            self.copy_file(&local.join(&part.file.file), &to, part)?;
        }
        Ok(())
    }

    /// Copies a file of this node. The copy gets its name when its hash is right.
    pub(super) fn copy_file(&self, from: &Path, to: &Path, part: &Part) -> Result<(), JobError> {
        let pace = Pace {
            limit: None,
            go_on: &|_| true,
        };
        let copied = copy(from, to, self.settings.options.mode, &pace, |copied| {
            fault::pass("job-copying");
            let same = hashed::check(copied, &part.file);
            same.map_err(|why| Fault::Io(io::Error::other(why)))
        });
        match copied {
            // Either tier may be the source.
            Err(WriteError::Copy(why)) => Err(why.into()),
            copied => Ok(copied.map(drop)?),
        }
    }

    /// Enters a drained step into the manifest, on node 0, and writes the file for ParaView.
    fn note_drained(&mut self, step: u64, votes: Vec<Result<(), String>>) -> Result<(), String> {
        let failed = votes.into_iter().enumerate().find_map(|(node, vote)| {
            let why = vote.err()?;
            Some(format!("node {node}: {why}"))
        });
        if let Some(why) = failed {
            return Err(why);
        }
        let Some(manifest) = &mut self.manifest else {
            return Ok(());
        };
        let noted = manifest.append(&Event::Drained { step });
        noted.map_err(|e| e.to_string())?;
        fault::pass("job-drained");
        let settings = &self.settings;
        let steps = &manifest.contents().steps;
        let shown = steps.get(&step).map(|found| {
            vtkhdf::write(
                &settings.slow,
                &settings.group,
                &found.commit,
                settings.options.mode,
            )
        });
        // Without it, the checkpoint is whole.
        if let Some(Err(error)) = shown {
            tracing::warn!("step {step} has no file for ParaView: {error}");
        }
        Ok(())
    }

    /// Removes the files that are not kept.
    fn retain(&mut self) -> Result<(), JobError> {
        let settings = &self.settings;
        let local = kept(&self.known, settings.keep, |_| true);
        let slow = kept(&self.known, settings.keep_slow, |known| known.drained);
        let slow = match self.known.values().any(|known| known.drained) {
            true => slow,
            false => BTreeSet::new(),
        };
        let in_place = settings.local == settings.slow;
        let both: BTreeSet<u64> = local.union(&slow).copied().collect();
        let known = self.known.len();
        // First of all, because the nodes must know the same, also if one cannot remove its files.
        self.known.retain(|step, _| both.contains(step));
        self.prepared.parts.retain(|part| both.contains(&part.step));
        fault::pass("job-removing");
        let removed = self.remove_files(if in_place { &both } else { &local }, &slow);
        if known != self.known.len() {
            self.write_prepared()?;
        }
        self.note_removed(&both)?;
        Ok(removed?)
    }

    /// Enters the steps that are no longer kept into the manifest, on node 0.
    fn note_removed(&mut self, kept: &BTreeSet<u64>) -> Result<(), JobError> {
        let Some(manifest) = &mut self.manifest else {
            return Ok(());
        };
        let steps = manifest.contents().steps.keys();
        let gone: Vec<u64> = steps.filter(|step| !kept.contains(step)).copied().collect();
        for step in gone {
            let shown = self
                .settings
                .slow
                .join(names::vtkhdf(&self.settings.group, step));
            match std::fs::remove_file(&shown) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(Fault::from(e).at(&shown).into());
                }
                _ => manifest.append(&Event::Removed { step })?,
            }
        }
        Ok(())
    }
}
