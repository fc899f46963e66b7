//! The drain: a thread that copies complete checkpoints from one tier to the next, oldest first, while others are written.

use super::contents::Entry;
use super::copy::{Pace, copy};
use super::{Retention, Tier};
use crate::error::{Fault, WriteError};
use crate::find::{Form, Found};
use crate::{Layout, series, stored};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tcasm_core::fault;

/// A tier that several threads use.
pub type Shared = Arc<Mutex<Tier>>;

/// After a failure the next attempt comes so much later at first, and at most.
const PAUSE: Duration = Duration::from_millis(500);
const MOST_PAUSE: Duration = Duration::from_secs(60);

/// How checkpoints are drained.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of the slower tier.
    pub dir: PathBuf,
    /// What is kept there.
    pub keep: Retention,
    /// What is kept on the fast tier, of what was drained.
    pub keep_fast: Retention,
    /// Most bytes in a second.
    pub limit: Option<u64>,
    /// Whether what is there of later steps may be replaced.
    pub replace_later: bool,
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Checkpoints that are complete on the fast tier only.
    pub outstanding: usize,
    /// The step that is being copied, how much of its file is, and how large that is.
    pub copying: Option<(u64, u64, u64)>,
    /// Checkpoints drained since the start.
    pub drained: u64,
    /// Why nothing is drained at this moment.
    pub trouble: Option<String>,
}

#[derive(Debug, Default)]
struct Board {
    state: State,
    /// Something may be new.
    wake: bool,
    /// The thread rests: it has looked since it was last woken, and `state` is what it found.
    resting: bool,
    stop: bool,
}

#[derive(Debug)]
struct Common {
    fast: Shared,
    settings: Settings,
    board: Mutex<Board>,
    changed: Condvar,
    copied: AtomicU64,
}

/// The thread. Dropped, it stops where it is: what is half copied is removed, and copied anew by the next.
#[derive(Debug)]
pub struct Drain {
    common: Arc<Common>,
    thread: Option<JoinHandle<()>>,
}

impl Drain {
    /// Drain `fast`, from now on. The slower tier may be out of reach for the time being; but it must not be another run's.
    pub fn start(fast: Shared, settings: Settings) -> Result<Self, WriteError> {
        let slow = open_slow(&fast, &settings.dir);
        let slow = match slow {
            Ok(slow) => Some(slow),
            Err(error) if error.may_pass() => {
                tracing::warn!("the slow tier cannot be used for now: {error}");
                None
            }
            Err(error) => return Err(error),
        };
        let common = Arc::new(Common {
            fast,
            settings,
            board: Mutex::default(),
            changed: Condvar::new(),
            copied: AtomicU64::new(0),
        });
        let worker = common.clone();
        let thread = std::thread::Builder::new()
            .name("tcasm-drain".to_owned())
            .spawn(move || worker.run(slow))
            .map_err(WriteError::Thread)?;
        Ok(Drain {
            common,
            thread: Some(thread),
        })
    }

    /// There may be something to drain.
    pub fn wake(&self) {
        self.common.wake();
    }

    /// What wakes it, for other threads.
    pub fn waker(&self) -> impl Fn() + Send + 'static {
        let common = self.common.clone();
        move || common.wake()
    }

    /// How far it is.
    pub fn state(&self) -> State {
        let mut state = self.common.board().state.clone();
        state.outstanding = self.common.outstanding().len();
        if let Some((_, done, _)) = &mut state.copying {
            *done = self.common.copied.load(Relaxed);
        }
        state
    }

    /// Wait until all is drained, something is in the way, or the time is over.
    pub fn wait(&self, timeout: Duration) -> State {
        self.wake();
        let busy = |board: &mut Board| board.wake || !board.resting;
        let waited = self
            .common
            .changed
            .wait_timeout_while(self.common.board(), timeout, busy);
        drop(waited);
        self.state()
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.common.board().stop = true;
        self.common.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn open_slow(fast: &Shared, dir: &Path) -> Result<Tier, WriteError> {
    let (name, run) = {
        let fast = lock(fast);
        (fast.name().to_owned(), fast.contents().run.clone())
    };
    Tier::open(dir, &name, Some(&run))
}

impl Common {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.board().wake = true;
        self.changed.notify_all();
    }

    fn run(&self, mut slow: Option<Tier>) {
        // Whoever computes or reads comes first.
        tcasm_core::sys::thread::set_background();
        let mut pause = PAUSE;
        loop {
            let result = self.drain_all(&mut slow);
            let trouble = result.err().map(|error| error.to_string());
            pause = match &trouble {
                None => PAUSE,
                Some(why) => {
                    tracing::warn!("draining: {why}; trying again");
                    // It may be another file system when it comes back.
                    slow = None;
                    (pause * 2).min(MOST_PAUSE)
                }
            };
            if !self.rest(trouble, pause) {
                return;
            }
        }
    }

    /// Sleep until something is new, or it is time to try again; false: for ever.
    fn rest(&self, trouble: Option<String>, pause: Duration) -> bool {
        let mut board = self.board();
        let failed = trouble.is_some();
        board.state.trouble = trouble;
        board.state.copying = None;
        board.state.outstanding = self.outstanding().len();
        board.wake &= !failed && board.state.outstanding != 0;
        board.resting = true;
        self.changed.notify_all();
        let until = Instant::now()
            + if failed {
                pause
            } else {
                Duration::from_secs(3600)
            };
        while !board.stop && (failed || !board.wake) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(board, left);
            board = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        board.wake = false;
        board.resting = false;
        !board.stop
    }

    /// What is complete on the fast tier only, oldest first.
    fn outstanding(&self) -> Vec<Entry> {
        let fast = lock(&self.fast);
        let items = fast.contents().items.values();
        let left = items.filter(|item| !item.drained);
        left.map(|item| item.entry.clone()).collect()
    }

    fn drain_all(&self, slow: &mut Option<Tier>) -> Result<(), WriteError> {
        let outstanding = self.outstanding();
        if outstanding.is_empty() && slow.is_some() {
            return Ok(());
        }
        let slow = match slow {
            Some(slow) => slow,
            None => slow.insert(open_slow(&self.fast, &self.settings.dir)?),
        };
        for entry in outstanding {
            match self.drain(&entry, slow) {
                // Another file has taken its place, or none: there is another look then.
                Err(_) if !is_current(&lock(&self.fast), &entry) => self.board().wake = true,
                // Trying again would not help, and those after it shall not wait.
                Err(WriteError::Copy(why)) if self.is_damaged(&entry) => {
                    tracing::error!(step = entry.step, %why, "a checkpoint is damaged; it is set aside");
                    lock(&self.fast).set_aside(entry.step, &why.to_string())?;
                }
                result => result?,
            }
        }
        Ok(())
    }

    /// Whether it is the source that is wrong, and not the copy.
    fn is_damaged(&self, entry: &Entry) -> bool {
        let path = lock(&self.fast).path(entry);
        Found::at(&path).is_some_and(|found| stored::verify(&path, found.form).is_err())
    }

    fn drain(&self, entry: &Entry, slow: &mut Tier) -> Result<(), WriteError> {
        let there = slow.contents().items.get(&entry.step);
        if there.is_none_or(|item| item.entry.seal != entry.seal) {
            self.check_later(entry, slow)?;
            self.copy(entry, slow)?;
        }
        {
            let mut fast = lock(&self.fast);
            // Not of a file that has taken its place meanwhile.
            if is_current(&fast, entry) {
                fast.drained(entry.step)?;
            }
        }
        slow.tidy(&self.settings.keep, false)?;
        series::write(slow)?;
        let mut fast = lock(&self.fast);
        if fast.tidy(&self.settings.keep_fast, true)? != 0 {
            series::write(&fast)?;
        }
        drop(fast);
        self.board().state.drained += 1;
        Ok(())
    }

    /// What is there of later steps, and not on the fast tier, may be another simulation's.
    fn check_later(&self, entry: &Entry, slow: &Tier) -> Result<(), WriteError> {
        let newest = lock(&self.fast).contents().newest();
        let (step, there) = (entry.step, slow.contents().newest());
        match there {
            Some(last) if !self.settings.replace_later && Some(last) > newest => {
                Err(WriteError::Before { step, last })
            }
            _ => Ok(()),
        }
    }

    fn copy(&self, entry: &Entry, slow: &mut Tier) -> Result<(), WriteError> {
        let from = lock(&self.fast).path(entry);
        self.board().state.copying = Some((entry.step, 0, entry.bytes));
        let go_on = |done| {
            self.copied.store(done, Relaxed);
            !self.board().stop
        };
        let pace = Pace {
            limit: self.settings.limit,
            go_on: &go_on,
        };
        let form = Found::at(&from).map_or(Form::Full(Layout::default()), |found| found.form);
        // Neither the source nor the copy is taken on trust.
        copy(&from, &slow.path(entry), &pace, |copy| {
            fault::pass("copied-file");
            stored::verify(copy, form).map_err(|e| Fault::Write(WriteError::Copy(e)))
        })?;
        fault::pass("copy-named");
        slow.complete(entry.clone())?;
        fault::pass("copy-entered");
        let newest = lock(&self.fast).contents().newest();
        slow.supersede(newest.unwrap_or(u64::MAX).max(entry.step))
    }
}

fn is_current(tier: &Tier, entry: &Entry) -> bool {
    let item = tier.contents().items.get(&entry.step);
    item.is_some_and(|item| item.entry == *entry)
}

/// A thread that panicked has left the tier as the disk has it.
pub fn lock(tier: &Shared) -> MutexGuard<'_, Tier> {
    tier.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checkpointer;
    use crate::tier::test::{write, written};

    #[test]
    fn who_waits_waits_for_what_was_complete_before() {
        let [fast, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let both = crate::Settings {
            slow: Some(slow.path().to_owned()),
            ..crate::Settings::new(fast.path())
        };
        let mut to = Checkpointer::open("run", both).unwrap();
        for step in 0..100 {
            write(&mut to, step);
            let state = to.wait_drained(MOST_PAUSE).unwrap();
            assert_eq!((state.outstanding, state.trouble), (0, None), "{step}");
        }
    }

    #[test]
    fn what_has_taken_the_place_of_a_drained_file_is_not_drained() {
        let [fast, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let mut tier = written(fast.path(), 1);
        let old = tier.contents().items[&1].entry.clone();
        let settings = Settings {
            dir: slow.path().to_owned(),
            keep: Retention::default(),
            keep_fast: Retention::default(),
            limit: None,
            replace_later: false,
        };
        drop(tier);
        let both = crate::Settings {
            slow: Some(slow.path().to_owned()),
            ..crate::Settings::new(fast.path())
        };
        let first = Checkpointer::open("run", both).unwrap();
        assert_eq!(first.wait_drained(MOST_PAUSE).unwrap().outstanding, 0);
        drop(first);
        tier = Tier::open(fast.path(), "run", None).unwrap();
        let seal = "another".to_owned();
        tier.complete(Entry {
            seal,
            ..old.clone()
        })
        .unwrap();
        let common = Common {
            fast: Arc::new(Mutex::new(tier)),
            settings,
            board: Mutex::default(),
            changed: Condvar::new(),
            copied: AtomicU64::new(0),
        };
        let mut slow = open_slow(&common.fast, slow.path()).unwrap();
        common.drain(&old, &mut slow).unwrap();
        assert!(!lock(&common.fast).contents().items[&1].drained);
        assert_eq!(common.outstanding().len(), 1, "there is another look");
    }
}
