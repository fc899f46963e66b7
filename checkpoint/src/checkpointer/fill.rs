//! Filling: all bytes of a checkpoint are written, under a temporary name.

use super::writer::{Checkpointer, Filled};
use crate::changed::with_growth;
use crate::error::WriteError;
use crate::format::description::Base;
use crate::format::increment;
use crate::format::names::{self, Form};
use crate::options::Options;
use crate::snapshot::Snapshot;
use crate::tier::shared::lock;
use crate::write::{self, Unsealed};
use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use tcasm_core::field::{FieldDesc, FieldTable};
use xxhash_rust::xxh3::xxh3_64;

impl Checkpointer {
    /// Writes the bytes of `snapshot`, which is no longer needed when this returns.
    /// [`Checkpointer::commit`] completes the checkpoint.
    pub fn fill(&mut self, snapshot: &Snapshot<'_>) -> Result<Filled, WriteError> {
        let form = Form::Full(self.settings.options.layout);
        let purpose = self.settings.purpose;
        self.begin(snapshot, form, |path, id, options| {
            write::begin(path, snapshot, id, options, purpose)
        })
    }

    /// Returns true if the next checkpoint of a version with the fields of `table` can be an
    /// increment on the last one.
    pub fn can_increment(&self, table: &FieldTable) -> bool {
        self.base(table).is_some()
    }

    /// Writes what has changed in `snapshot` since the last checkpoint. `changed` returns the
    /// ranges of bytes of a field that have changed, ascending and disjoint. Bytes beyond the
    /// length that a field had in the last checkpoint are written in any case. Writes all of
    /// `snapshot` if there is no checkpoint to build on.
    pub fn fill_increment(
        &mut self,
        snapshot: &Snapshot<'_>,
        changed: impl Fn(&FieldDesc) -> Vec<Range<u64>>,
    ) -> Result<Filled, WriteError> {
        let Some((base, older)) = self.base(snapshot.table) else {
            return self.fill(snapshot);
        };
        let changed = |field: &FieldDesc| with_growth(changed(field), field, &older);
        self.begin(snapshot, Form::Increment, |path, id, options| {
            write::increment::begin(path, snapshot, id, &base, changed, options)
        })
    }

    /// Returns the state that an increment with the fields of `table` can build on, and its fields,
    /// if there is one.
    fn base(&self, table: &FieldTable) -> Option<(Base, FieldTable)> {
        let last = self.last.as_ref()?;
        let tier = lock(&self.fast);
        let (contents, step) = (tier.contents(), last.entry.step);
        // The last checkpoint, or its base, may have been found damaged since.
        let room = contents.is_whole(step) && contents.files(step) < self.settings.most_files;
        let fits = room && increment::alike(table, &last.table);
        fits.then(|| {
            let base = Base {
                step: last.entry.step,
                id: last.entry.id.clone(),
            };
            (base, last.table.clone())
        })
    }

    /// Checks the step, the folder and the path, then calls `write` with the path, the identity and
    /// the options.
    fn begin(
        &mut self,
        snapshot: &Snapshot<'_>,
        form: Form,
        write: impl Fn(&Path, &str, &Options) -> Result<Unsealed, WriteError>,
    ) -> Result<Filled, WriteError> {
        let (start, step) = (Instant::now(), snapshot.stamp.step);
        let (path, id) = {
            let tier = lock(&self.fast);
            let path = tier.dir().join(names::file_name(tier.name(), step, form));
            (path, self.id(&tier.contents().run, step))
        };
        let checked = self
            .check_step(step)
            .and_then(|()| self.check_tier())
            .and_then(|()| lock(&self.fast).check_free(&path));
        let begun =
            checked.and_then(|()| self.with_room(|| write(&path, &id, &self.settings.options)));
        let unsealed = begun.inspect_err(|error| self.note(step, error))?;
        Ok(Filled {
            unsealed,
            table: snapshot.table.clone(),
            step,
            start,
        })
    }

    /// Returns an identity for the state of `step`. It also differs from that of the same step
    /// after another start.
    fn id(&self, run: &str, step: u64) -> String {
        let text = format!("{run} {} {} {step}", self.started, std::process::id());
        format!("{:016x}", xxh3_64(text.as_bytes()))
    }

    /// Checks that `step` is greater than the last one. The first step after a start may be smaller
    /// if later checkpoints may be replaced.
    fn check_step(&self, step: u64) -> Result<(), WriteError> {
        let last = match &self.last {
            Some(last) => Some(last.entry.step),
            None if self.settings.replace_later => None,
            // The newest checkpoint may be written again, because a simulation that restarts from
            // it begins with its step.
            None => return self.check_first(step),
        };
        match last {
            Some(last) if step <= last => Err(WriteError::Backwards { step, last }),
            _ => Ok(()),
        }
    }

    /// Checks that `step`, the first one, is not smaller than the newest step that was found at the
    /// start.
    fn check_first(&self, step: u64) -> Result<(), WriteError> {
        match self.found {
            Some(last) if step < last => Err(WriteError::Before { step, last }),
            _ => Ok(()),
        }
    }

    /// Opens the folder again if it was replaced, for example if it was unmounted meanwhile, or if
    /// it may hold a file that is not in its manifest.
    fn check_tier(&mut self) -> Result<(), WriteError> {
        let mut tier = lock(&self.fast);
        if self.unentered || !tier.is_there() {
            tier.reopen()?;
        }
        self.unentered = false;
        Ok(())
    }
}
