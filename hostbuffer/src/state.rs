//! The facts that the thread of a buffer and the program's threads tell each other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How far the sealing of a section is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Seal {
    /// Nobody in this process has asked for it.
    #[default]
    Open,
    /// This process has asked for it.
    Wanted,
    /// The section can no longer change.
    Sealed,
    /// It failed.
    Failed(String),
}

#[derive(Debug, Default)]
struct Inner {
    stop: bool,
    seals: Vec<Seal>,
}

/// The shared state. The thread reads it when its bell rings.
#[derive(Debug)]
pub(crate) struct State {
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl State {
    pub(crate) fn new(sections: usize) -> Self {
        let seals = vec![Seal::Open; sections];
        State {
            inner: Mutex::new(Inner { stop: false, seals }),
            changed: Condvar::new(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stop(&self) {
        self.inner().stop = true;
    }

    pub(crate) fn stopping(&self) -> bool {
        self.inner().stop
    }

    /// Asks for section `i` to be sealed.
    pub(crate) fn want(&self, i: usize) {
        let seal = &mut self.inner().seals[i];
        if *seal != Seal::Sealed {
            *seal = Seal::Wanted;
        }
    }

    /// Returns the sections that this process wants to seal.
    pub(crate) fn wanted(&self) -> Vec<usize> {
        let inner = self.inner();
        let all = inner.seals.iter().enumerate();
        let wanted = all.filter(|(_, seal)| **seal == Seal::Wanted);
        wanted.map(|(i, _)| i).collect()
    }

    /// Records how the sealing of section `i` went. A failure counts only for those who wait.
    pub(crate) fn set(&self, i: usize, seal: Seal) {
        let mut inner = self.inner();
        let Some(old) = inner.seals.get_mut(i) else {
            return;
        };
        if *old == Seal::Wanted || seal == Seal::Sealed {
            *old = seal;
        }
        self.changed.notify_all();
    }

    /// Waits until section `i` is sealed, or sealing it has failed. Returns what is known then, or
    /// when `timeout` is over.
    pub(crate) fn wait(&self, i: usize, timeout: Duration) -> Seal {
        let until = Instant::now() + timeout.min(Duration::from_secs(1 << 30));
        let mut inner = self.inner();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let seal = &inner.seals[i];
            if matches!(seal, Seal::Sealed | Seal::Failed(_)) || left.is_zero() {
                return seal.clone();
            }
            let waited = self.changed.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_is_told_to_those_who_asked_and_may_ask_again() {
        let state = State::new(2);
        state.set(0, Seal::Failed("not asked for".into()));
        assert_eq!(state.wait(0, Duration::ZERO), Seal::Open);
        state.want(0);
        assert_eq!(state.wanted(), [0]);
        let failed = Seal::Failed("busy".into());
        state.set(0, failed.clone());
        assert_eq!(state.wait(0, Duration::MAX), failed);
        state.want(0);
        state.set(0, Seal::Sealed);
        state.want(0);
        assert_eq!(state.wait(0, Duration::MAX), Seal::Sealed);
        assert!(state.wanted().is_empty());
    }
}
