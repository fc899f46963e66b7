//! The versions of a region, with the state that the model had when each was published.

use super::latest;
use tcasm_observer::Version;
use tcasm_producer::Producer;
use tcasm_tests::PublishVisible;

/// The number of versions that can be rolled back to: the history that [`super::create`] keeps.
pub const HISTORY: usize = 8;
/// The most versions that are pinned at a time.
const PINS: usize = 4;

/// The state of a model.
pub trait State: Clone {
    /// Checks that a version has exactly this content.
    fn check(&self, version: &Version);
}

/// The versions of a region.
pub struct Versions<S> {
    history: Vec<(u64, S)>,
    pinned: Vec<(Version, S)>,
}

impl<S: State> Versions<S> {
    pub fn new() -> Self {
        Versions {
            history: Vec::new(),
            pinned: Vec::new(),
        }
    }

    /// Publishes a version, which must have the content of `state`.
    pub fn publish(&mut self, p: &mut Producer, state: &S, pin: bool) {
        let receipt = p.publish_visible(0, 0.0).unwrap();
        let number = receipt.version();
        let number = number.unwrap_or_else(|| panic!("{receipt:?}"));
        state.check(&latest(p));
        self.history.push((number, state.clone()));
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
        if pin && self.pinned.len() < PINS {
            self.pinned.push((latest(p), state.clone()));
        }
    }

    /// Rolls back to one of the versions. Returns its state, or `None` if there is no version.
    pub fn rollback(&self, p: &mut Producer, which: usize) -> Option<S> {
        let at = which.checked_rem(self.history.len())?;
        let (number, state) = &self.history[at];
        p.rollback(*number).unwrap();
        Some(state.clone())
    }

    /// Releases one of the pinned versions, if there is one.
    pub fn unpin(&mut self, which: usize) {
        if let Some(at) = which.checked_rem(self.pinned.len()) {
            self.pinned.swap_remove(at);
        }
    }

    /// Checks the pinned versions.
    pub fn check(&self) {
        for (version, state) in &self.pinned {
            state.check(version);
        }
    }
}
