//! Writing one checkpoint after the other of a run.

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

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The checkpoint.
    pub path: PathBuf,
    /// Size of the file.
    pub bytes: u64,
    /// How long it took until it was on the disk.
    pub duration: Duration,
}

/// What a [`Checkpointer`] has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Checkpoints on the disk.
    pub written: u64,
    /// Checkpoints that could not be written.
    pub failed: u64,
    /// Bytes of the files written.
    pub bytes: u64,
    /// What went wrong the last time that something did.
    pub last_error: Option<String>,
}

/// Writes the checkpoints `<name>_<step>.vtkhdf` or, as openPMD, `<name>_<step>.h5` (and `<name>_<step>.increment.h5`) of one run
/// into a folder, with their manifest and the list of the VTKHDF files, `<name>.vtkhdf.series`; a thread copies them to the next tier. A checkpoint that fails leaves the
/// older ones as they are, and the run goes on.
#[derive(Debug)]
pub struct Checkpointer {
    settings: Settings,
    /// Both are dropped before the tier that they share.
    compactor: Option<Compactor>,
    drain: Option<Drain>,
    fast: Shared,
    /// The last one, which increments build on.
    last: Option<Last>,
    /// The newest step that was there at the start, on either tier.
    found: Option<u64>,
    /// Nanoseconds of the Unix epoch.
    started: u64,
    counters: Counters,
    /// How attempts have failed since the last that did not.
    failing: Option<Discriminant<WriteError>>,
    /// A file got its name, and no line: it is taken up before the next.
    unentered: bool,
}

#[derive(Debug)]
struct Last {
    entry: Entry,
    table: FieldTable,
}

/// A checkpoint that has all its bytes, and is not yet one: what it was written from is no longer needed.
#[derive(Debug)]
pub struct Filled {
    unsealed: Unsealed,
    table: FieldTable,
    step: u64,
    start: Instant,
}

impl Checkpointer {
    /// Write checkpoints called `name` into `dir`, which exists. Temporary files that a killed run has left there
    /// under that name are removed; its checkpoints are kept and stay in the list.
    pub fn new(dir: impl AsRef<Path>, name: &str, options: Options) -> Result<Self, WriteError> {
        let settings = Settings {
            options,
            ..Settings::new(dir)
        };
        Checkpointer::open(name, settings)
    }

    /// Write checkpoints called `name` as `settings` says. What an earlier run has left to be drained is drained.
    pub fn open(name: &str, settings: Settings) -> Result<Self, WriteError> {
        settings.check_folders()?;
        // A run that has lost its fast tier, as one that goes on on another node has, goes on with its slow one.
        let slow = settings.slow.as_deref().and_then(|dir| {
            let contents = Contents::read(&dir.join(manifest::file_name(name)));
            contents.ok().filter(|contents| !contents.run.is_empty())
        });
        let run = slow.as_ref().map(|s| s.run.as_str());
        let mut tier = Tier::open(&settings.fast, name, run, settings.options.mode)?;
        if let Err(error) = series::complete(&mut tier) {
            // What is drained makes room.
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

    /// Write all of `snapshot` and list it. A checkpoint that is on the disk counts as written even when the list could not
    /// be: that is told by [`Counters::last_error`], and the next one lists both.
    pub fn write(&mut self, snapshot: &Snapshot<'_>) -> Result<Written, WriteError> {
        let filled = self.fill(snapshot)?;
        self.commit(filled)
    }

    /// Write the bytes of `snapshot`, which is not needed any more when this returns. The checkpoint is there after
    /// [`Checkpointer::commit`].
    pub fn fill(&mut self, snapshot: &Snapshot<'_>) -> Result<Filled, WriteError> {
        let form = Form::Full(self.settings.options.layout);
        self.begin(snapshot, form, |path, id, options| {
            write::begin(path, snapshot, id, options)
        })
    }

    /// Whether the next checkpoint of a version with these fields can be an increment on the last.
    pub fn can_increment(&self, table: &FieldTable) -> bool {
        self.base(table).is_some()
    }

    /// Write what has changed of `snapshot` since the last checkpoint: `changed` tells the ranges of bytes of each field,
    /// ascending and disjoint. Where there is nothing to build on, all is written.
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

    fn base(&self, table: &FieldTable) -> Option<Base> {
        let last = self.last.as_ref()?;
        let tier = lock(&self.fast);
        let (contents, step) = (tier.contents(), last.entry.step);
        // Its base may have been found to be damaged since.
        let room = contents.is_whole(step) && contents.files(step) < self.settings.most_files;
        let fits = room && increment::alike(table, &last.table);
        fits.then(|| Base {
            step: last.entry.step,
            id: last.entry.id.clone(),
        })
    }

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
            checked.and_then(|()| self.in_room(|| write(&path, &id, &self.settings.options)));
        let unsealed = begun.inspect_err(|error| self.note(step, error))?;
        Ok(Filled {
            unsealed,
            table: snapshot.table.clone(),
            step,
            start,
        })
    }

    /// Write, and again as long as there is no room and some can be made: what the next tier has gives way, but for the newest.
    fn in_room<T>(&self, write: impl Fn() -> Result<T, WriteError>) -> Result<T, WriteError> {
        loop {
            match write() {
                Err(WriteError::NoSpace { .. }) if self.make_room() => {}
                written => return written,
            }
        }
    }

    /// Whether there is more room than before.
    fn make_room(&self) -> bool {
        let newest = Retention::last(1);
        let removed = |tier: &mut Tier| tier.tidy(&newest, true);
        self.drain.is_some() && removed(&mut lock(&self.fast)).is_ok_and(|n| n != 0)
    }

    /// Tells the state of `step` from any other, also from that of the same step of another start.
    fn id(&self, run: &str, step: u64) -> String {
        let text = format!("{run} {} {} {step}", self.started, std::process::id());
        format!("{:016x}", xxh3_64(text.as_bytes()))
    }

    /// Make a checkpoint of what was filled in: sealed, on the disk, and in the manifest.
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

    fn try_commit(&mut self, filled: Filled) -> Result<(PathBuf, u64), WriteError> {
        let path = filled.unsealed.path().to_owned();
        fault::pass("filled");
        let header = self.in_room(|| filled.unsealed.seal())?;
        // From here on it may have its name, and no line.
        self.unentered = true;
        let bytes = filled.unsealed.commit()?;
        fault::pass("named");
        let entry = stored::entry(&path, header, bytes);
        self.in_room(|| lock(&self.fast).complete(entry.clone()))?;
        self.unentered = false;
        fault::pass("entered");
        let table = filled.table;
        self.last = Some(Last { entry, table });
        Ok((path, bytes))
    }

    /// Remove what is not to be kept, and list what is there.
    fn put_in_order(&self) -> Result<(), WriteError> {
        let mut tier = lock(&self.fast);
        if let Some(last) = self.last.as_ref().filter(|_| self.settings.replace_later) {
            tier.supersede(last.entry.step)?;
        }
        tier.tidy(&self.settings.keep, self.drain.is_some())?;
        series::update(&mut tier)
    }

    /// Steps ascend, but for the first of a simulation that has begun anew.
    fn check_step(&self, step: u64) -> Result<(), WriteError> {
        let last = match &self.last {
            Some(last) => Some(last.entry.step),
            None if self.settings.replace_later => None,
            // The newest may be written anew: a simulation that goes on from it begins with it.
            None => return self.check_first(step),
        };
        match last {
            Some(last) if step <= last => Err(WriteError::Backwards { step, last }),
            _ => Ok(()),
        }
    }

    fn check_first(&self, step: u64) -> Result<(), WriteError> {
        match self.found {
            Some(last) if step < last => Err(WriteError::Before { step, last }),
            _ => Ok(()),
        }
    }

    /// A folder that was away is another one when it is back; and what is in it may not be in its manifest.
    fn check_tier(&mut self) -> Result<(), WriteError> {
        let mut tier = lock(&self.fast);
        if self.unentered || !tier.is_there() {
            tier.reopen()?;
        }
        self.unentered = false;
        Ok(())
    }

    fn note(&mut self, step: u64, error: &WriteError) {
        self.counters.failed += 1;
        self.counters.last_error = Some(error.to_string());
        let kind = std::mem::discriminant(error);
        // The same failure at each attempt is one line.
        if self.failing.replace(kind) == Some(kind) {
            return;
        }
        // Where not even that can be written, the log has it.
        let noted = lock(&self.fast).failed(step, &error.to_string());
        if let Err(error) = noted {
            tracing::warn!("not noted: {error}");
        }
    }

    /// What was done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What the manifest of the fast tier says.
    pub fn contents(&self) -> Contents {
        lock(&self.fast).contents().clone()
    }

    /// How far the copies to the slow tier are; none: there is no slow tier.
    pub fn draining(&self) -> Option<State> {
        self.drain.as_ref().map(Drain::state)
    }

    /// Wait until all is copied to the slow tier, something is in the way, or the time is over.
    pub fn wait_drained(&self, timeout: Duration) -> Option<State> {
        self.drain.as_ref().map(|drain| drain.wait(timeout))
    }
}

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

/// For the model of tiers.
#[cfg(test)]
impl Checkpointer {
    /// Has a drain that tests move step by step.
    pub(crate) fn drain_by_hand(&mut self, settings: drain::Settings) -> drain::Idle {
        let (drain, idle) = Drain::idle(self.fast.clone(), settings);
        self.drain = Some(drain);
        idle
    }

    /// The tier that is written.
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
    fn what_the_next_tier_has_makes_room_but_for_the_newest() {
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
        assert!(to.in_room(full).is_err(), "there is no next tier");
        drop(to);

        let gone = slow.path().join("gone");
        let to = Checkpointer::open("run", settings(Some(&gone))).unwrap();
        assert!(to.in_room(full).is_err(), "it has none of them");
        drop(to);

        let to = Checkpointer::open("run", settings(Some(slow.path()))).unwrap();
        let state = to.wait_drained(Duration::from_secs(60)).unwrap();
        assert_eq!((state.outstanding, state.trouble), (0, None));
        attempts.set(0);
        to.in_room(full).unwrap();
        assert_eq!(attempts.get(), 2);
        assert_eq!(to.contents().items.keys().collect::<Vec<_>>(), [&3]);
        assert!(file(3).exists() && !file(2).exists());
        // Nothing more can give way: it comes to an end.
        fs::write(file(1), "of somebody else").unwrap();
        assert!(to.in_room(full).is_err());
        assert!(file(3).exists());
    }
}
