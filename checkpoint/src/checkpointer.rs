//! Writing one checkpoint after the other into a directory.

use crate::error::{Fault, WriteError};
use crate::series::Series;
use crate::{Options, Snapshot, atomic, find, vtkhdf};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

/// Writes the checkpoints `<name>_<step>.vtkhdf` of one run into one directory, and their list,
/// `<name>.vtkhdf.series`. A checkpoint that fails leaves the older ones as they are, and the run goes on.
#[derive(Debug)]
pub struct Checkpointer {
    dir: PathBuf,
    name: String,
    options: Options,
    series: Series,
    counters: Counters,
    _lock: Lock,
}

impl Checkpointer {
    /// Write checkpoints called `name` into `dir`, which exists. Temporary files that a killed run has left there
    /// under that name are removed; its checkpoints are kept and stay in the list.
    pub fn new(dir: impl AsRef<Path>, name: &str, options: Options) -> Result<Self, WriteError> {
        let dir = dir.as_ref();
        if !usable(name) {
            return Err(WriteError::Name(name.to_owned()));
        }
        if !dir.is_dir() {
            return Err(WriteError::NoDirectory(dir.to_owned()));
        }
        let lock = lock(dir, name)?;
        Ok(Checkpointer {
            dir: dir.to_owned(),
            name: name.to_owned(),
            options,
            series: Series::open(dir, name),
            counters: Counters::default(),
            _lock: lock,
        })
    }

    /// Write `snapshot` and list it. A checkpoint that is on the disk counts as written even when the list could not
    /// be: that is told by [`Counters::last_error`], and the next one lists both.
    pub fn write(&mut self, snapshot: &Snapshot<'_>) -> Result<Written, WriteError> {
        let start = Instant::now();
        let step = snapshot.stamp.step;
        let path = self.dir.join(find::file_name(&self.name, step));
        let bytes = vtkhdf::write(&path, snapshot, &self.options).inspect_err(|error| {
            self.counters.failed += 1;
            self.counters.last_error = Some(error.to_string());
        })?;
        self.counters.written += 1;
        self.counters.bytes += bytes;
        self.series.add(&self.name, step, snapshot.stamp.time);
        if let Err(error) = self.series.write() {
            tracing::warn!("the list of checkpoints is not up to date: {error}");
            self.counters.last_error = Some(error.to_string());
        }
        Ok(Written {
            path,
            bytes,
            duration: start.elapsed(),
        })
    }

    /// What was done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The list of the checkpoints.
    pub fn series(&self) -> &Series {
        &self.series
    }
}

fn usable(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=128).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(allowed)
}

/// Be the only one to write `name` in `dir`; then what half-written files there are, are of the dead.
fn lock(dir: &Path, name: &str) -> Result<Lock, WriteError> {
    let path = dir.join(format!(".{name}.tcasm-lock"));
    let file = File::create(&path).map_err(|e| Fault::from(e).at(&path))?;
    match file.try_lock() {
        Ok(()) => remove_leftovers(dir, name),
        Err(TryLockError::WouldBlock) => {
            let (dir, name) = (dir.to_owned(), name.to_owned());
            return Err(WriteError::Busy { dir, name });
        }
        Err(TryLockError::Error(e)) => {
            tracing::warn!("no locks in {dir:?} ({e}): leftovers of killed runs are not removed");
        }
    }
    Ok(Lock(file))
}

/// Held until dropped. The kernel lets it go with the process, however that ends.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    /// Closing alone is not enough: a process that is just being started holds a copy of the descriptor until it execs.
    fn drop(&mut self) {
        if let Err(e) = self.0.unlock() {
            tracing::debug!("unlocking: {e}");
        }
    }
}

fn remove_leftovers(dir: &Path, name: &str) {
    let list = format!("{name}.vtkhdf.series");
    let ours = |file: &str| file == list || find::parse(file).is_some_and(|(n, _)| n == name);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let file = entry.file_name();
        if file.to_str().is_some_and(|f| atomic::is_temporary(f, ours)) {
            match fs::remove_file(entry.path()) {
                Ok(()) => tracing::info!("removed {file:?}, left by a killed run"),
                Err(e) => tracing::warn!("{file:?}, left by a killed run, stays: {e}"),
            }
        }
    }
}
