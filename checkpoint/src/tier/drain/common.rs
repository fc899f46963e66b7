//! The state that the drain thread and its handles share.

use crate::tier::contents::Entry;
use crate::tier::retention::Retention;
use crate::tier::shared::{Shared, lock};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

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
pub struct Board {
    /// The progress of the drain.
    pub state: State,
    /// True if there may be a new checkpoint to drain.
    pub wake: bool,
    /// True while the thread sleeps. It has examined the fast tier since it was last woken, and
    /// `state` is the result.
    pub idle: bool,
    /// True if the thread is to end.
    pub stop: bool,
}

/// The data that the drain thread and its handles share.
#[derive(Debug)]
pub struct Common {
    /// The tier that is drained.
    pub fast: Shared,
    /// Where and how it is drained.
    pub settings: Settings,
    board: Mutex<Board>,
    /// Tells all sides that the board has changed.
    pub changed: Condvar,
    /// Bytes of the current file that were copied so far.
    pub copied: AtomicU64,
}

impl Common {
    /// Returns the data of a drain of `fast` that has not begun.
    pub fn new(fast: Shared, settings: Settings) -> Self {
        Common {
            fast,
            settings,
            board: Mutex::default(),
            changed: Condvar::new(),
            copied: AtomicU64::new(0),
        }
    }

    /// Locks the board.
    pub fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread, because there may be a new checkpoint to drain.
    pub fn wake(&self) {
        self.board().wake = true;
        self.changed.notify_all();
    }

    /// Returns the checkpoints that are complete on the fast tier only, oldest first.
    pub fn outstanding(&self) -> Vec<Entry> {
        let fast = lock(&self.fast);
        let items = fast.contents().items.values();
        let left = items.filter(|item| !item.drained);
        left.map(|item| item.entry.clone()).collect()
    }

    /// Returns the next checkpoint to drain. It is the oldest one, so an increment comes after its
    /// base.
    pub fn next(&self) -> Option<Entry> {
        let fast = lock(&self.fast);
        let mut items = fast.contents().items.values();
        items
            .find(|item| !item.drained)
            .map(|item| item.entry.clone())
    }
}
