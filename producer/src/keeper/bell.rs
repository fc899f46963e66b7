//! The requests of other threads to the keeper between its scans.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Wakes the keeper.
#[derive(Debug, Default)]
pub(super) struct Bell {
    asked: Mutex<Asked>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    stop: bool,
    gather: Vec<Range<usize>>,
}

/// The reason why the keeper goes on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// It must end.
    Stop,
    /// These ranges of addresses are to be gathered into huge pages now.
    Gather(Vec<Range<usize>>),
    /// The next scan is due.
    Scan,
}

impl Bell {
    /// Asks the keeper to end.
    pub(super) fn stop(&self) {
        self.asked().stop = true;
        self.rung.notify_all();
    }

    /// Asks the keeper to gather `ranges`. Never waits: if the keeper is looking just now, nothing
    /// is gathered this time.
    pub(super) fn gather(&self, ranges: impl IntoIterator<Item = Range<usize>>) {
        if let Ok(mut asked) = self.asked.try_lock() {
            asked.gather.extend(ranges);
            self.rung.notify_all();
        }
    }

    /// Sleeps until somebody asks for something, or until `due`.
    pub(super) fn wait(&self, due: Instant) -> Call {
        let idle = |asked: &mut Asked| !asked.stop && asked.gather.is_empty();
        let left = due.saturating_duration_since(Instant::now());
        let waited = self.rung.wait_timeout_while(self.asked(), left, idle);
        let (mut asked, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match (
            asked.stop,
            asked.gather.is_empty() || left == Duration::ZERO,
        ) {
            (true, _) => Call::Stop,
            (false, false) => Call::Gather(std::mem::take(&mut asked.gather)),
            (false, true) => Call::Scan,
        }
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeper_is_told_what_was_asked_and_scans_are_never_put_off() {
        let bell = Bell::default();
        let later = Instant::now() + Duration::from_secs(3600);
        bell.gather([1..2, 5..6]);
        assert_eq!(bell.wait(later), Call::Gather(vec![1..2, 5..6]));
        assert_eq!(bell.wait(Instant::now()), Call::Scan);
        bell.gather([7..8, 9..10]);
        assert_eq!(bell.wait(Instant::now()), Call::Scan, "the scan is due");
        assert_eq!(bell.wait(later), Call::Gather(vec![7..8, 9..10]));
        bell.stop();
        assert_eq!(bell.wait(later), Call::Stop);
    }
}
