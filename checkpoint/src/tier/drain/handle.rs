//! The handle to the drain thread.

use super::common::{Board, Common, Settings, State};
use super::work::open_slow;
use crate::error::WriteError;
use crate::tier::shared::Shared;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

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

#[cfg(test)]
impl Drain {
    /// Returns a handle to a drain without a thread.
    pub fn without_thread(common: Arc<Common>) -> Self {
        let thread = None;
        Drain { common, thread }
    }
}

#[cfg(test)]
mod tests {
    use crate::Checkpointer;
    use crate::tier::drain::work::MOST_PAUSE;
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
