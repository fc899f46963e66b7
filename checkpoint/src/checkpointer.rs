//! The writer of the checkpoints of a run.

use crate::error::WriteError;
use crate::find::{self, Form};
use crate::increment::{self, Base};
use crate::tier::compact::Compactor;
use crate::tier::contents::{Contents, Entry};
use crate::tier::drain::{self, Drain, Shared, State, lock};
use crate::tier::manifest;
use crate::tier::{Retention, Tier};
use crate::unsealed::Unsealed;
use crate::{Options, Settings, Snapshot, series, stored, write};
use std::mem::Discriminant;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tcasm_core::fault;
use tcasm_core::field::{FieldDesc, FieldTable};
use xxhash_rust::xxh3::xxh3_64;

/// A checkpoint that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The time until the file was on the disk.
    pub duration: Duration,
}

/// Counters of what a [`Checkpointer`] has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of checkpoints that were written.
    pub written: u64,
    /// The number of checkpoints that could not be written.
    pub failed: u64,
    /// The total size of the files that were written, in bytes.
    pub bytes: u64,
    /// The last error, if there was one.
    pub last_error: Option<String>,
}

/// Writes the checkpoints of one run into a folder, with their manifest. The files are called
/// `<name>_<step>.vtkhdf` or, as openPMD, `<name>_<step>.h5`; increments are called
/// `<name>_<step>.increment.h5`. The VTKHDF files are listed in `<name>.vtkhdf.series`.
///
/// If there is a slow tier, a thread copies checkpoints to it. A checkpoint that fails does not
/// touch older ones, and the run can go on.
#[derive(Debug)]
pub struct Checkpointer {
    settings: Settings,
    /// The compactor and the drain are dropped before the tier that they share.
    compactor: Option<Compactor>,
    drain: Option<Drain>,
    fast: Shared,
    /// The last checkpoint, which the next increment builds on.
    last: Option<Last>,
    /// The newest step that was found at the start, on either tier.
    found: Option<u64>,
    /// The time of the start, in nanoseconds since the Unix epoch.
    started: u64,
    counters: Counters,
    /// The kind of error of the last attempt, or `None` if that succeeded.
    failing: Option<Discriminant<WriteError>>,
    /// True if a file may have its name but no line in the manifest. The folder is then opened
    /// again, which enters the file, before the next checkpoint.
    unentered: bool,
}

/// The last checkpoint that was written.
#[derive(Debug)]
struct Last {
    entry: Entry,
    table: FieldTable,
}

/// A checkpoint whose bytes are written, but which is not yet complete. Its snapshot is no longer
/// needed.
#[derive(Debug)]
pub struct Filled {
    unsealed: Unsealed,
    table: FieldTable,
    step: u64,
    start: Instant,
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
        if let Err(error) = series::complete(&mut tier) {
            // This may be due to a full disk. The drain makes room later.
            tracing::warn!("the list of checkpoints is not up to date: {error}");
        }
        let found = slow.and_then(|s| s.newest()).max(tier.contents().newest());
        let fast = Arc::new(Mutex::new(tier));
        let drain = settings.slow.clone().map(|dir| {
            let to = drain::Settings {
                dir,
                keep: settings.keep_slow.clone(),
                keep_fast: settings.keep.clone(),
                limit: settings.limit,
                replace_later: settings.replace_later,
            };
            Drain::start(fast.clone(), to)
        });
        let drain = drain.transpose()?;
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

    /// Writes all of `snapshot` and lists it. A checkpoint that is on the disk counts as written
    /// even if the list could not be updated. In this case [`Counters::last_error`] holds the
    /// error, and the next checkpoint lists both.
    pub fn write(&mut self, snapshot: &Snapshot<'_>) -> Result<Written, WriteError> {
        let filled = self.fill(snapshot)?;
        self.commit(filled)
    }

    /// Writes the bytes of `snapshot`, which is no longer needed when this returns.
    /// [`Checkpointer::commit`] completes the checkpoint.
    pub fn fill(&mut self, snapshot: &Snapshot<'_>) -> Result<Filled, WriteError> {
        let form = Form::Full(self.settings.options.layout);
        self.begin(snapshot, form, |path, id, options| {
            write::begin(path, snapshot, id, options)
        })
    }

    /// Returns true if the next checkpoint of a version with the fields of `table` can be an
    /// increment on the last one.
    pub fn can_increment(&self, table: &FieldTable) -> bool {
        self.base(table).is_some()
    }

    /// Writes what has changed in `snapshot` since the last checkpoint. `changed` returns the
    /// ranges of bytes of a field that have changed, ascending and disjoint. Writes all of
    /// `snapshot` if there is no checkpoint to build on.
    pub fn fill_increment(
        &mut self,
        snapshot: &Snapshot<'_>,
        changed: impl Fn(&FieldDesc) -> Vec<Range<u64>>,
    ) -> Result<Filled, WriteError> {
        let Some(base) = self.base(snapshot.table) else {
            return self.fill(snapshot);
        };
        self.begin(snapshot, Form::Increment, |path, id, options| {
            increment::begin(path, snapshot, id, &base, &changed, options)
        })
    }

    /// Returns the state that an increment with the fields of `table` can build on, if there is
    /// one.
    fn base(&self, table: &FieldTable) -> Option<Base> {
        let last = self.last.as_ref()?;
        let tier = lock(&self.fast);
        let (contents, step) = (tier.contents(), last.entry.step);
        // The last checkpoint, or its base, may have been found damaged since.
        let room = contents.is_whole(step) && contents.files(step) < self.settings.most_files;
        let fits = room && increment::alike(table, &last.table);
        fits.then(|| Base {
            step: last.entry.step,
            id: last.entry.id.clone(),
        })
    }

    /// Checks the step and the folder, then calls `write` with the path, the identity and the
    /// options.
    fn begin(
        &mut self,
        snapshot: &Snapshot<'_>,
        form: Form,
        write: impl Fn(&Path, &str, &Options) -> Result<Unsealed, WriteError>,
    ) -> Result<Filled, WriteError> {
        let (start, step) = (Instant::now(), snapshot.stamp.step);
        let (path, id) = {
            let tier = lock(&self.fast);
            let path = tier.dir().join(find::file_name(tier.name(), step, form));
            (path, self.id(&tier.contents().run, step))
        };
        let checked = self.check_step(step).and_then(|()| self.check_tier());
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

    /// Calls `write`, and again after each removal as long as there is no room. Removes checkpoints
    /// that the next tier has, except the newest.
    fn with_room<T>(&self, write: impl Fn() -> Result<T, WriteError>) -> Result<T, WriteError> {
        loop {
            match write() {
                Err(WriteError::NoSpace { .. }) if self.make_room() => {}
                written => return written,
            }
        }
    }

    /// Removes checkpoints to make room. Returns true if one was removed.
    fn make_room(&self) -> bool {
        let newest = Retention::last(1);
        let removed = |tier: &mut Tier| tier.apply_retention(&newest, true);
        self.drain.is_some() && removed(&mut lock(&self.fast)).is_ok_and(|n| n != 0)
    }

    /// Returns an identity for the state of `step`. It also differs from that of the same step
    /// after another start.
    fn id(&self, run: &str, step: u64) -> String {
        let text = format!("{run} {} {} {step}", self.started, std::process::id());
        format!("{:016x}", xxh3_64(text.as_bytes()))
    }

    /// Completes a filled checkpoint: seals it, brings it to the disk and enters it into the
    /// manifest.
    pub fn commit(&mut self, filled: Filled) -> Result<Written, WriteError> {
        let (step, start) = (filled.step, filled.start);
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
            duration: start.elapsed(),
        })
    }

    /// Completes a filled checkpoint. Returns its path and its size.
    fn try_commit(&mut self, filled: Filled) -> Result<(PathBuf, u64), WriteError> {
        let path = filled.unsealed.path().to_owned();
        fault::pass("filled");
        let header = self.with_room(|| filled.unsealed.seal())?;
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
        series::update(&mut tier)
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

    /// Counts a failure, and notes it in the manifest.
    fn note(&mut self, step: u64, error: &WriteError) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::test::write;
    use std::cell::Cell;
    use std::fs;

    #[test]
    fn drained_checkpoints_are_removed_to_make_room_except_the_newest() {
        let [fast, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let settings = |slow: Option<&Path>| Settings {
            slow: slow.map(Path::to_owned),
            ..Settings::new(fast.path())
        };
        let file = |step: u64| fast.path().join(format!("run_{step:08}.vtkhdf"));
        let attempts = Cell::new(0);
        let full = || {
            attempts.set(attempts.get() + 1);
            let source = std::io::ErrorKind::StorageFull.into();
            let path = file(4);
            match file(1).exists() {
                true => Err(WriteError::NoSpace { path, source }),
                false => Ok(()),
            }
        };
        let mut to = Checkpointer::open("run", settings(None)).unwrap();
        (1..=3).for_each(|step| write(&mut to, step));
        assert!(to.with_room(full).is_err(), "there is no next tier");
        drop(to);

        let gone = slow.path().join("gone");
        let to = Checkpointer::open("run", settings(Some(&gone))).unwrap();
        assert!(to.with_room(full).is_err(), "it has none of them");
        drop(to);

        let to = Checkpointer::open("run", settings(Some(slow.path()))).unwrap();
        let state = to.wait_drained(Duration::from_secs(60)).unwrap();
        assert_eq!((state.outstanding, state.trouble), (0, None));
        attempts.set(0);
        to.with_room(full).unwrap();
        assert_eq!(attempts.get(), 2);
        assert_eq!(to.contents().items.keys().collect::<Vec<_>>(), [&3]);
        assert!(file(3).exists() && !file(2).exists());
        // No more checkpoints can be removed, so this ends with an error.
        fs::write(file(1), "of somebody else").unwrap();
        assert!(to.with_room(full).is_err());
        assert!(file(3).exists());
    }
}
