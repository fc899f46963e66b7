//! The files: tried again with each version, whatever became of those before.

use crate::args::{CheckpointArgs, Keep};
use crate::commands::export::snapshot;
use crate::exit::{Code, Failure};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tcasm_checkpoint::{
    Checkpointer, Draining, Filled, Retention, Settings, WriteError, Written, changed_bytes,
};
use tcasm_observer::{Version, View};

/// Writes checkpoints, and counts.
pub struct Writer {
    name: String,
    settings: Settings,
    /// None while the folder cannot be used.
    checkpointer: Option<Checkpointer>,
    /// The version of the last checkpoint, where the next one is to be an increment.
    base: Option<Version>,
    last: Option<Last>,
    pub written: u64,
    pub failed: u64,
    pub bytes: u64,
}

/// What became of the last attempt.
struct Last {
    version: u64,
    result: Result<PathBuf, (Code, String)>,
}

impl Writer {
    /// A folder that cannot be used yet is told, and no reason to stop: it may come back (a file system that is mounted
    /// later). Another writer of the same files is, and so are folders that cannot be meant.
    pub fn new(name: &str, args: &CheckpointArgs) -> Result<Self, Failure> {
        let mut writer = Writer {
            name: name.to_owned(),
            settings: settings(args),
            checkpointer: None,
            base: None,
            last: None,
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

    /// Write `version`; it is mapped only meanwhile, and pinned no longer than it takes to copy its bytes, unless the next is to
    /// say what has changed since.
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
        let (name, base) = (self.name.clone(), self.base.clone());
        let increments = self.settings.most_files > 1;
        let checkpointer = self.open()?;
        let view = version.view()?;
        let filled = fill(checkpointer, &name, &view, base.as_ref())?;
        // What was read from a version that did not stand must not become a file.
        view.check()?;
        drop(view);
        let pinned = increments.then_some(version);
        let written = checkpointer.commit(filled)?;
        self.base = pinned;
        Ok(written)
    }

    /// Whether `version` is on the disk.
    pub fn has(&self, version: &Version) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.version == version.number() && last.result.is_ok())
    }

    /// Why the last attempt failed, if it did.
    pub fn last_failure(&self) -> Option<(Code, &str)> {
        let (code, why) = self.last.as_ref()?.result.as_ref().err()?;
        Some((*code, why))
    }

    /// The newest file.
    pub fn last_file(&self) -> Option<&Path> {
        let result = &self.last.as_ref()?.result;
        result.as_ref().ok().map(PathBuf::as_path)
    }

    /// How far the copies to the slow folder are.
    pub fn draining(&self) -> Option<Draining> {
        self.checkpointer.as_ref()?.draining()
    }

    /// Wait until all is copied, or the time is over.
    pub fn wait_drained(&self, timeout: Duration) -> Option<Draining> {
        self.checkpointer.as_ref()?.wait_drained(timeout)
    }

    /// What is left after the producer's death.
    pub fn rescued(&self) -> String {
        match self.last_file() {
            Some(file) => format!("its last version is saved as {}", file.display()),
            None => "it had published nothing".to_owned(),
        }
    }
}

/// Write the bytes: all, or what has changed since `base`.
fn fill(
    checkpointer: &mut Checkpointer,
    name: &str,
    view: &View,
    base: Option<&Version>,
) -> Result<Filled, Failure> {
    let snapshot = snapshot(name, view);
    let Some(base) = base.filter(|_| checkpointer.can_increment(view.table())) else {
        return Ok(checkpointer.fill(&snapshot)?);
    };
    let pages = view.changes_since(base)?.pages;
    let page_size = view.page_size()?;
    let changed = |field: &_| changed_bytes(field, base.table(), &pages, page_size);
    Ok(checkpointer.fill_increment(&snapshot, changed)?)
}

fn settings(args: &CheckpointArgs) -> Settings {
    let in_mb = |mb: f64| (mb * 1e6) as u64;
    Settings {
        keep: retention(&args.keep, args.keep.keep, args.slow.is_none()),
        slow: args.slow.clone(),
        keep_slow: retention(&args.keep, args.keep.keep_slow, true),
        limit: args.limit.map(|mb| in_mb(mb).max(1)),
        options: args.storage.options(args.mode.unwrap_or_default()),
        most_files: args.increments as usize,
        compact: args.compact,
        replace_later: args.replace_later,
        ..Settings::new(&args.fast)
    }
}

/// What is kept of one folder; what is kept for good, in the last one.
fn retention(keep: &Keep, last: Option<u64>, is_last: bool) -> Retention {
    Retention {
        last: last.map_or(usize::MAX, |n| n as usize),
        every: keep.keep_every.filter(|_| is_last),
        steps: keep.keep_step.iter().copied().filter(|_| is_last).collect(),
    }
}
