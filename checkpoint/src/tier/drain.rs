//! The drain: a thread that copies complete checkpoints from one tier to the next, oldest first,
//! while the writer goes on with others.

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

/// A tier that several threads share.
pub type Shared = Arc<Mutex<Tier>>;

/// Half the delay before the next attempt after a first failure. The delay doubles with each
/// failure.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest delay between two attempts.
const MOST_PAUSE: Duration = Duration::from_secs(60);

/// The settings of a drain.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of the slower tier.
    pub dir: PathBuf,
    /// The checkpoints that are kept on the slower tier.
    pub keep: Retention,
    /// The checkpoints that are kept on the fast tier. Those that are not yet drained are kept as
    /// well.
    pub keep_fast: Retention,
    /// The highest rate of copying, in bytes per second.
    pub limit: Option<u64>,
    /// True if checkpoints of later steps on the slower tier may be replaced.
    pub replace_later: bool,
}

/// The progress of a drain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The number of checkpoints that are complete on the fast tier only.
    pub outstanding: usize,
    /// The step that is being copied, the bytes copied so far, and the size of its file in bytes.
    pub copying: Option<(u64, u64, u64)>,
    /// The number of checkpoints drained since the start.
    pub drained: u64,
    /// The reason why nothing is drained at this moment, if there is one.
    pub trouble: Option<String>,
}

/// The part of the shared data that a lock protects.
#[derive(Debug, Default)]
struct Board {
    state: State,
    /// True if there may be a new checkpoint to drain.
    wake: bool,
    /// True while the thread sleeps. It has examined the fast tier since it was last woken, and
    /// `state` is the result.
    idle: bool,
    /// True if the thread is to end.
    stop: bool,
}

/// The data that the drain thread and its handles share.
#[derive(Debug)]
struct Common {
    fast: Shared,
    settings: Settings,
    board: Mutex<Board>,
    changed: Condvar,
    /// Bytes of the current file that were copied so far.
    copied: AtomicU64,
}

/// A handle to the drain thread. Dropping it stops the thread at once. A file that is half copied
/// is removed, and the next drain copies it again.
#[derive(Debug)]
pub struct Drain {
    common: Arc<Common>,
    thread: Option<JoinHandle<()>>,
}

impl Drain {
    /// Starts to drain `fast`. The slower tier may be unreachable for now, but it must not belong
    /// to another run.
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
        // Retention removes drained checkpoints from the fast tier. So first find those that the
        // slower tier has lost.
        if let Some(slow) = &slow {
            common.redrain_lost(slow)?;
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

    /// Wakes the thread, because there may be a new checkpoint to drain.
    pub fn wake(&self) {
        self.common.wake();
    }

    /// Returns a function that wakes the thread, for use by other threads.
    pub fn waker(&self) -> impl Fn() + Send + 'static {
        let common = self.common.clone();
        move || common.wake()
    }

    /// Returns the progress of the drain.
    pub fn state(&self) -> State {
        let mut state = self.common.board().state.clone();
        state.outstanding = self.common.outstanding().len();
        if let Some((_, done, _)) = &mut state.copying {
            *done = self.common.copied.load(Relaxed);
        }
        state
    }

    /// Waits until all checkpoints are drained, a failure stops the drain, or `timeout` is over.
    pub fn wait(&self, timeout: Duration) -> State {
        self.wake();
        let busy = |board: &mut Board| board.wake || !board.idle;
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

/// Opens the slower tier, which must belong to the same run as `fast`.
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

    /// Runs the thread: drains checkpoints until `stop` is set.
    fn run(&self, mut slow: Option<Slow>) {
        // The simulation and its observers have priority over the drain.
        tcasm_core::sys::thread::set_background();
        let mut pause = PAUSE;
        loop {
            let result = self.drain_all(&mut slow);
            let trouble = result.err().map(|error| error.to_string());
            pause = match &trouble {
                None => PAUSE,
                Some(why) => {
                    tracing::warn!("draining: {why}; trying again");
                    // A file system that comes back may be another one, so open the tier again.
                    slow = None;
                    (pause * 2).min(MOST_PAUSE)
                }
            };
            if !self.sleep(trouble, pause) {
                return;
            }
        }
    }

    /// Sleeps until there is a new checkpoint or it is time to try again. Returns false if the
    /// thread is to end.
    fn sleep(&self, trouble: Option<String>, pause: Duration) -> bool {
        let mut board = self.board();
        let failed = trouble.is_some();
        board.state.trouble = trouble;
        board.state.copying = None;
        board.state.outstanding = self.outstanding().len();
        board.wake &= !failed && board.state.outstanding != 0;
        board.idle = true;
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
        board.idle = false;
        !board.stop
    }

    /// Returns the checkpoints that are complete on the fast tier only, oldest first.
    fn outstanding(&self) -> Vec<Entry> {
        let fast = lock(&self.fast);
        let items = fast.contents().items.values();
        let left = items.filter(|item| !item.drained);
        left.map(|item| item.entry.clone()).collect()
    }

    /// Returns the next checkpoint to drain. It is the oldest one, so an increment comes after its
    /// base.
    fn next(&self) -> Option<Entry> {
        let fast = lock(&self.fast);
        let mut items = fast.contents().items.values();
        items
            .find(|item| !item.drained)
            .map(|item| item.entry.clone())
    }

    /// Drains all checkpoints that are not drained yet.
    fn drain_all(&self, slow: &mut Option<Slow>) -> Result<(), WriteError> {
        let slow = match slow {
            Some(slow) => slow,
            None => {
                let slow = slow.insert(open_slow(&self.fast, &self.settings.dir)?);
                // The lists may lack checkpoints that were written or drained before the failure.
                series::complete(&mut slow.tier)?;
                series::complete(&mut lock(&self.fast))?;
                slow
            }
        };
        self.redrain_lost(slow)?;
        // Ask for the next entry each time, because files are replaced and removed meanwhile.
        while let Some(entry) = self.next() {
            if self.board().stop {
                break;
            }
            self.drain(&entry, slow)?;
        }
        Ok(())
    }

    /// Marks checkpoints as not drained that the slower tier has lost. These are the drained
    /// checkpoints that are newer than the newest readable one on the slower tier: that tier has
    /// had all of them.
    fn redrain_lost(&self, slow: &Slow) -> Result<(), WriteError> {
        let newest = slow.tier.contents().newest_whole();
        let mut fast = lock(&self.fast);
        let newer = fast.contents().items.values();
        let newer = newer.filter(|item| item.drained && Some(item.entry.step) > newest);
        let lost: Vec<u64> = newer.map(|item| item.entry.step).collect();
        lost.into_iter().try_for_each(|step| fast.not_drained(step))
    }
}

/// A drain without a thread, whose steps tests take one by one.
#[cfg(test)]
pub struct Idle {
    common: Arc<Common>,
    slow: Slow,
}

#[cfg(test)]
impl Idle {
    /// Chooses the oldest checkpoint to drain, calls `meanwhile`, then drains that checkpoint.
    pub fn drain_next(&mut self, meanwhile: impl FnOnce()) {
        self.common.redrain_lost(&self.slow).unwrap();
        let next = self.common.next();
        meanwhile();
        next.iter().for_each(|entry| self.drain(entry));
    }

    /// Lists the checkpoints to drain, calls `meanwhile`, then drains those on the list.
    pub fn drain_list(&mut self, meanwhile: impl FnOnce()) {
        let list = self.common.outstanding();
        meanwhile();
        list.iter().for_each(|entry| self.drain(entry));
    }

    fn drain(&mut self, entry: &Entry) {
        match self.common.drain(entry, &mut self.slow) {
            // The slow tier has a newer checkpoint than the fast one. The drain waits until the
            // fast tier has a newer one.
            Err(WriteError::Before { .. }) => {}
            drained => drained.unwrap(),
        }
    }
}

#[cfg(test)]
impl Drain {
    /// Returns a drain without a thread, and the handle that takes its steps.
    pub fn idle(fast: Shared, settings: Settings) -> (Self, Idle) {
        let slow = open_slow(&fast, &settings.dir).unwrap();
        let common = Arc::new(Common::new(fast, settings));
        common.redrain_lost(&slow).unwrap();
        let drain = Drain {
            common: common.clone(),
            thread: None,
        };
        (drain, Idle { common, slow })
    }
}

/// Locks `tier`. The lock is taken even if a thread panicked while holding it, because the tier is
/// then still what the disk says.
pub fn lock(tier: &Shared) -> MutexGuard<'_, Tier> {
    tier.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checkpointer;
    use crate::tier::test::write;

    #[test]
    fn wait_covers_checkpoints_that_were_complete_before_the_call() {
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
