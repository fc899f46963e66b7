//! Writes checkpoint files. A failure does not prevent the next attempt.

use crate::failure::{Code, Failure};
use crate::files::args::{CheckpointArgs, Keep};
use crate::files::storage;
use crate::files::stored::{Choice, Stored};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tcasm_checkpoint::{
    Checkpointer, Draining, Filled, Retention, Settings, WriteError, Written, changed_bytes,
};
use tcasm_core::field::FieldTable;
use tcasm_observer::Version;

/// Writes checkpoints and counts them.
pub struct Writer {
    name: String,
    settings: Settings,
    choice: Choice,
    /// `None` while the folder cannot be used.
    checkpointer: Option<Checkpointer>,
    /// The version of the last checkpoint, pinned if increments are on. The next increment is
    /// relative to it.
    base: Option<Version>,
    last: Option<Last>,
    /// The fields of the last checkpoint, and those that it lacks.
    pub table: FieldTable,
    /// A note on what other programs do not find in the files, if there is something.
    pub no_place: Option<String>,
    pub written: u64,
    pub failed: u64,
    pub bytes: u64,
}

/// The result of the last attempt.
struct Last {
    version: u64,
    result: Result<PathBuf, (Code, String)>,
}

impl Writer {
    /// Opens the folder. If it cannot be used now but may be later (a file system that is not
    /// mounted yet), prints a note and continues. Returns an error for what does not pass: another
    /// writer of the same files, or folders that make no sense.
    pub fn new(name: &str, args: &CheckpointArgs) -> Result<Self, Failure> {
        let mut writer = Writer {
            name: name.to_owned(),
            settings: settings(args),
            choice: Choice::from(args),
            checkpointer: None,
            base: None,
            last: None,
            table: FieldTable::default(),
            no_place: None,
            written: 0,
            failed: 0,
            bytes: 0,
        };
        match writer.open() {
            Err(error) if error.may_pass() => {
                crate::output::note(&format!("{error}; trying again at each checkpoint"));
                Ok(writer)
            }
            Err(error) => Err(error.into()),
            Ok(_) => Ok(writer),
        }
    }

    fn open(&mut self) -> Result<&mut Checkpointer, WriteError> {
        let opened = match self.checkpointer.take() {
            Some(checkpointer) => checkpointer,
            None => Checkpointer::open(&self.name, self.settings.clone())?,
        };
        Ok(self.checkpointer.insert(opened))
    }

    /// Writes `version`. It is mapped only during this call, and its pin is released as soon as its
    /// bytes are copied. With increments the pin stays, because the next increment needs it.
    pub fn write(&mut self, version: Version) -> Result<Written, Failure> {
        let number = version.number();
        let result = self.try_write(version);
        match &result {
            Ok(written) => {
                self.written += 1;
                self.bytes += written.bytes;
            }
            Err(_) => self.failed += 1,
        }
        self.last = Some(Last {
            version: number,
            result: match &result {
                Ok(written) => Ok(written.path.clone()),
                Err(failure) => Err((failure.code, failure.message.clone())),
            },
        });
        result
    }

    fn try_write(&mut self, version: Version) -> Result<Written, Failure> {
        let (name, base, choice) = (self.name.clone(), self.base.clone(), self.choice.clone());
        let increments = self.settings.most_files > 1;
        let checkpointer = self.open()?;
        let stored = choice.of(&version)?;
        let filled = fill(checkpointer, &name, &stored, base.as_ref())?;
        let table = stored.table().clone();
        drop(stored);
        let pinned = increments.then_some(version);
        let written = checkpointer.commit(filled)?;
        self.no_place = storage::not_in_checkpoints(&self.settings.options, &table);
        (self.base, self.table) = (pinned, table);
        Ok(written)
    }

    /// Returns true if `version` is on the disk as the last checkpoint.
    pub fn has(&self, version: &Version) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.version == version.number() && last.result.is_ok())
    }

    /// Returns why the last attempt failed, if it did.
    pub fn last_failure(&self) -> Option<(Code, &str)> {
        let (code, why) = self.last.as_ref()?.result.as_ref().err()?;
        Some((*code, why))
    }

    /// Returns the file of the last attempt, if it succeeded.
    pub fn last_file(&self) -> Option<&Path> {
        let result = &self.last.as_ref()?.result;
        result.as_ref().ok().map(PathBuf::as_path)
    }

    /// Returns the state of the copies to the slow folder.
    pub fn draining(&self) -> Option<Draining> {
        self.checkpointer.as_ref()?.draining()
    }

    /// Waits until everything is copied or `timeout` has passed. Returns the state.
    pub fn wait_drained(&self, timeout: Duration) -> Option<Draining> {
        self.checkpointer.as_ref()?.wait_drained(timeout)
    }

    /// Describes what is saved after the producer's death.
    pub fn rescued(&self) -> String {
        match self.last_file() {
            Some(file) => format!("its last version is saved as {}", file.display()),
            None => "it had published no version".to_owned(),
        }
    }
}

/// Writes the bytes of a version: all of them, or only those that changed since `base`.
fn fill(
    checkpointer: &mut Checkpointer,
    name: &str,
    stored: &Stored,
    base: Option<&Version>,
) -> Result<Filled, Failure> {
    let snapshot = stored.snapshot(name);
    let base = base.filter(|_| checkpointer.can_increment(stored.table()));
    let (Some(base), Some(version)) = (base, stored.version()) else {
        return Ok(checkpointer.fill(&snapshot)?);
    };
    let pages = version.changes_since(base)?.pages;
    let page_size = version.page_size()?;
    let changed = |field: &_| changed_bytes(field, base.table(), &pages, page_size);
    Ok(checkpointer.fill_increment(&snapshot, changed)?)
}

fn settings(args: &CheckpointArgs) -> Settings {
    let in_mib = |mib: f64| (mib * f64::from(1 << 20)) as u64;
    Settings {
        keep: retention(&args.keep, args.keep.keep, args.slow.is_none()),
        slow: args.slow.clone(),
        keep_slow: retention(&args.keep, args.keep.keep_slow, true),
        limit: args.limit.map(|mib| in_mib(mib).max(1)),
        options: args.storage.options(args.mode.unwrap_or_default()),
        most_files: args.increments as usize,
        compact: args.compact,
        replace_later: args.replace_later,
        ..Settings::new(&args.fast)
    }
}

/// Returns the retention of one folder. Checkpoints that are kept for good (`--keep-every`,
/// `--keep-step`) are kept only in the last folder (`is_last`).
fn retention(keep: &Keep, last: Option<u64>, is_last: bool) -> Retention {
    Retention {
        last: last.map_or(usize::MAX, |n| n as usize),
        every: keep.keep_every.filter(|_| is_last),
        steps: keep.keep_step.iter().copied().filter(|_| is_last).collect(),
    }
}
