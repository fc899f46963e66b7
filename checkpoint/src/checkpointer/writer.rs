//! The writer of the checkpoints of a run.

use super::report::Counters;
use super::settings::Settings;
use crate::error::WriteError;
use crate::options::Options;
use crate::tier::Tier;
use crate::tier::compact::Compactor;
use crate::tier::contents::{Contents, Entry};
use crate::tier::drain::{self, Drain, State};
use crate::tier::manifest;
use crate::tier::shared::{Shared, lock};
use crate::write::Unsealed;
use std::mem::Discriminant;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tcasm_core::field::FieldTable;

/// Writes the checkpoints of one run into a folder, with their manifest. The files are called
/// `<name>_<step>.vtkhdf` or, as openPMD, `<name>_<step>.h5`; increments are called
/// `<name>_<step>.increment.h5`. The VTKHDF files are listed in `<name>.vtkhdf.series`.
///
/// If there is a slow tier, a thread copies checkpoints to it. A checkpoint that fails does not
/// touch older ones, and the run can go on.
#[derive(Debug)]
pub struct Checkpointer {
    pub(super) settings: Settings,
    /// The compactor and the drain are dropped before the tier that they share.
    pub(super) compactor: Option<Compactor>,
    pub(super) drain: Option<Drain>,
    pub(super) fast: Shared,
    /// The last checkpoint, which the next increment builds on.
    pub(super) last: Option<Last>,
    /// The newest step that was found at the start, on either tier.
    pub(super) found: Option<u64>,
    /// The time of the start, in nanoseconds since the Unix epoch.
    pub(super) started: u64,
    pub(super) counters: Counters,
    /// The kind of error of the last attempt, or `None` if that succeeded.
    pub(super) failing: Option<Discriminant<WriteError>>,
    /// True if a file may have its name but no line in the manifest. The folder is then opened
    /// again, which enters the file, before the next checkpoint.
    pub(super) unentered: bool,
}

/// The last checkpoint that was written.
#[derive(Debug)]
pub(super) struct Last {
    pub(super) entry: Entry,
    pub(super) table: FieldTable,
}

/// A checkpoint whose bytes are written, but which is not yet complete. Its snapshot is no longer
/// needed.
#[derive(Debug)]
pub struct Filled {
    pub(super) unsealed: Unsealed,
    pub(super) table: FieldTable,
    pub(super) step: u64,
    pub(super) start: Instant,
}

impl Checkpointer {
    /// Creates a writer of checkpoints called `name` in the existing folder `dir`. Removes
    /// temporary files of that name that a killed run has left there. Its checkpoints are kept and
    /// stay in the list.
    pub fn new(dir: impl AsRef<Path>, name: &str, options: Options) -> Result<Self, WriteError> {
        let settings = Settings {
            options,
            ..Settings::new(dir)
        };
        Checkpointer::open(name, settings)
    }

    /// Creates a writer of checkpoints called `name` with `settings`. Checkpoints of an earlier run
    /// that are not drained yet are drained.
    pub fn open(name: &str, settings: Settings) -> Result<Self, WriteError> {
        settings.check_folders()?;
        // A run that has lost its fast tier continues with the slow one, for example if it was
        // restarted on another node.
        let slow = settings.slow.as_deref().and_then(|dir| {
            let contents = Contents::read(&dir.join(manifest::file_name(name)));
            contents.ok().filter(|contents| !contents.run.is_empty())
        });
        let run = slow.as_ref().map(|s| s.run.as_str());
        let mut tier = Tier::open(&settings.fast, name, run, settings.options.mode)?;
        if let Err(error) = tier.complete_list() {
            // This may be due to a full disk. The drain makes room later.
            tracing::warn!("the list of checkpoints is not up to date: {error}");
        }
        let found = slow.and_then(|s| s.newest()).max(tier.contents().newest());
        let fast = Arc::new(Mutex::new(tier));
        let drain = start_drain(&settings, &fast)?;
        Ok(Checkpointer {
            compactor: start_compactor(&settings, &fast, drain.as_ref())?,
            drain,
            fast,
            settings,
            last: None,
            found,
            started: manifest::unix_ns(),
            counters: Counters::default(),
            failing: None,
            unentered: false,
        })
    }

    /// Counts a failure, and notes it in the manifest.
    pub(super) fn note(&mut self, step: u64, error: &WriteError) {
        self.counters.failed += 1;
        self.counters.last_error = Some(error.to_string());
        let kind = std::mem::discriminant(error);
        // If each attempt fails in the same way, only one line is written.
        if self.failing.replace(kind) == Some(kind) {
            return;
        }
        // If that cannot be written either, the error is only logged.
        let noted = lock(&self.fast).failed(step, &error.to_string());
        if let Err(error) = noted {
            tracing::warn!("cannot note a failure in the manifest: {error}");
        }
    }

    /// Returns counters of what was done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the contents of the manifest of the fast tier.
    pub fn contents(&self) -> Contents {
        lock(&self.fast).contents().clone()
    }

    /// Returns the progress of the copies to the slow tier, or `None` if there is no slow tier.
    pub fn draining(&self) -> Option<State> {
        self.drain.as_ref().map(Drain::state)
    }

    /// Waits until all checkpoints are copied to the slow tier, a failure stops the copies, or
    /// `timeout` is over. Returns the progress, or `None` if there is no slow tier.
    pub fn wait_drained(&self, timeout: Duration) -> Option<State> {
        self.drain.as_ref().map(|drain| drain.wait(timeout))
    }
}

/// Starts the drain, if there is a slow tier.
fn start_drain(settings: &Settings, fast: &Shared) -> Result<Option<Drain>, WriteError> {
    let Some(dir) = settings.slow.clone() else {
        return Ok(None);
    };
    let to = drain::Settings {
        dir,
        keep: settings.keep_slow.clone(),
        keep_fast: settings.keep.clone(),
        limit: settings.limit,
        replace_later: settings.replace_later,
    };
    Drain::start(fast.clone(), to).map(Some)
}

/// Starts the compactor, if the settings ask for it.
fn start_compactor(
    settings: &Settings,
    fast: &Shared,
    drain: Option<&Drain>,
) -> Result<Option<Compactor>, WriteError> {
    if !settings.compact || settings.most_files < 2 {
        return Ok(None);
    }
    let wake_drain = drain.map(Drain::waker);
    let done = move || {
        if let Some(wake) = &wake_drain {
            wake();
        }
    };
    let most = settings.most_files / 2 + 1;
    Compactor::start(fast.clone(), most, settings.options.clone(), done).map(Some)
}

/// Functions for the model test of tiers.
#[cfg(test)]
impl Checkpointer {
    /// Installs a drain whose steps tests take one by one.
    pub(crate) fn drain_by_hand(&mut self, settings: drain::Settings) -> drain::Idle {
        let (drain, idle) = Drain::idle(self.fast.clone(), settings);
        self.drain = Some(drain);
        idle
    }

    /// Returns the fast tier.
    pub(crate) fn fast(&self) -> Shared {
        self.fast.clone()
    }
}
