//! The drain: a thread that copies complete checkpoints from one tier to the next, oldest first, while others are written.

mod transfer;

use super::contents::Entry;
use super::slow::Slow;
use super::{Retention, Tier};
use crate::error::WriteError;
use crate::series;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
        let common = Arc::new(Common::new(fast, settings));
        // Before anything is removed because it was drained.
        if let Some(slow) = &slow {
            common.look_back(slow)?;
        }
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

fn open_slow(fast: &Shared, dir: &Path) -> Result<Slow, WriteError> {
    let (name, run, mode) = {
        let fast = lock(fast);
        let run = fast.contents().run.clone();
        (fast.name().to_owned(), run, fast.mode())
    };
    Tier::open(dir, &name, Some(&run), mode).map(Slow::new)
}

impl Common {
    fn new(fast: Shared, settings: Settings) -> Self {
        Common {
            fast,
            settings,
            board: Mutex::default(),
            changed: Condvar::new(),
            copied: AtomicU64::new(0),
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.board().wake = true;
        self.changed.notify_all();
    }

    fn run(&self, mut slow: Option<Slow>) {
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

    /// The next entry to drain: the oldest, so that an increment comes after its base.
    fn next(&self) -> Option<Entry> {
        let fast = lock(&self.fast);
        let mut items = fast.contents().items.values();
        items
            .find(|item| !item.drained)
            .map(|item| item.entry.clone())
    }

    fn drain_all(&self, slow: &mut Option<Slow>) -> Result<(), WriteError> {
        let slow = match slow {
            Some(slow) => slow,
            None => {
                let slow = slow.insert(open_slow(&self.fast, &self.settings.dir)?);
                // Lists may be older than the tiers since something was in the way.
                series::complete(&mut slow.tier)?;
                series::complete(&mut lock(&self.fast))?;
                slow
            }
        };
        self.look_back(slow)?;
        // The folder is asked each time: files are replaced and removed meanwhile.
        while let Some(entry) = self.next() {
            if self.board().stop {
                break;
            }
            self.drain(&entry, slow)?;
        }
        Ok(())
    }

    /// Has drained again what the slow tier has lost: it has all that is newest, or had it.
    fn look_back(&self, slow: &Slow) -> Result<(), WriteError> {
        let newest = slow.tier.contents().newest_whole();
        let mut fast = lock(&self.fast);
        let newer = fast.contents().items.values();
        let newer = newer.filter(|item| item.drained && Some(item.entry.step) > newest);
        let lost: Vec<u64> = newer.map(|item| item.entry.step).collect();
        lost.into_iter().try_for_each(|step| fast.not_drained(step))
    }
}

/// A drain without a thread: tests take its steps one by one.
#[cfg(test)]
pub struct Idle {
    common: Arc<Common>,
    slow: Slow,
}

#[cfg(test)]
impl Idle {
    /// Drains the oldest, which is chosen before `meanwhile`.
    pub fn drain_next(&mut self, meanwhile: impl FnOnce()) {
        self.common.look_back(&self.slow).unwrap();
        let next = self.common.next();
        meanwhile();
        next.iter().for_each(|entry| self.drain(entry));
    }

    /// Drains all that there is before `meanwhile`.
    pub fn drain_list(&mut self, meanwhile: impl FnOnce()) {
        let list = self.common.outstanding();
        meanwhile();
        list.iter().for_each(|entry| self.drain(entry));
    }

    fn drain(&mut self, entry: &Entry) {
        match self.common.drain(entry, &mut self.slow) {
            // The slow tier alone has the newest: the thread waits for a newer one.
            Err(WriteError::Before { .. }) => {}
            drained => drained.unwrap(),
        }
    }
}

#[cfg(test)]
impl Drain {
    /// A drain without a thread, and what moves it.
    pub fn idle(fast: Shared, settings: Settings) -> (Self, Idle) {
        let slow = open_slow(&fast, &settings.dir).unwrap();
        let common = Arc::new(Common::new(fast, settings));
        common.look_back(&slow).unwrap();
        let drain = Drain {
            common: common.clone(),
            thread: None,
        };
        (drain, Idle { common, slow })
    }
}

/// A thread that panicked has left the tier as the disk has it.
pub fn lock(tier: &Shared) -> MutexGuard<'_, Tier> {
    tier.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checkpointer;
    use crate::tier::test::write;

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
}
