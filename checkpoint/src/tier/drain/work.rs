//! The work of the drain thread: it drains what is outstanding, sleeps, and tries again.

use super::common::Common;
use crate::error::WriteError;
use crate::tier::open::Tier;
use crate::tier::shared::{Shared, lock};
use crate::tier::slow::Slow;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// Half the delay before the next attempt after a first failure. The delay doubles with each
/// failure.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest delay between two attempts.
pub const MOST_PAUSE: Duration = Duration::from_secs(60);

/// Opens the slower tier, which must belong to the same run as `fast`.
pub fn open_slow(fast: &Shared, dir: &Path) -> Result<Slow, WriteError> {
    let (name, run, mode) = {
        let fast = lock(fast);
        let run = fast.contents().run.clone();
        (fast.name().to_owned(), run, fast.mode())
    };
    Tier::open(dir, &name, Some(&run), mode).map(Slow::new)
}

impl Common {
    /// Runs the thread: drains checkpoints until `stop` is set.
    pub fn run(&self, mut slow: Option<Slow>) {
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

    /// Drains all checkpoints that are not drained yet.
    fn drain_all(&self, slow: &mut Option<Slow>) -> Result<(), WriteError> {
        let slow = match slow {
            Some(slow) => slow,
            None => {
                let slow = slow.insert(open_slow(&self.fast, &self.settings.dir)?);
                // The lists may lack checkpoints that were written or drained before the failure.
                slow.tier.complete_list()?;
                lock(&self.fast).complete_list()?;
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
    pub fn redrain_lost(&self, slow: &Slow) -> Result<(), WriteError> {
        let newest = slow.tier.contents().newest_whole();
        let mut fast = lock(&self.fast);
        let newer = fast.contents().items.values();
        let newer = newer.filter(|item| item.drained && Some(item.entry.step) > newest);
        let lost: Vec<u64> = newer.map(|item| item.entry.step).collect();
        lost.into_iter().try_for_each(|step| fast.not_drained(step))
    }
}
