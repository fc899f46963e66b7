//! A drain without a thread, for tests.

use super::common::{Common, Settings};
use super::handle::Drain;
use super::work::open_slow;
use crate::error::WriteError;
use crate::tier::contents::Entry;
use crate::tier::shared::Shared;
use crate::tier::slow::Slow;
use std::sync::Arc;

/// A drain without a thread, whose steps tests take one by one.
pub struct Idle {
    common: Arc<Common>,
    slow: Slow,
}

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

impl Drain {
    /// Returns a drain without a thread, and the handle that takes its steps.
    pub fn idle(fast: Shared, settings: Settings) -> (Self, Idle) {
        let slow = open_slow(&fast, &settings.dir).unwrap();
        let common = Arc::new(Common::new(fast, settings));
        common.redrain_lost(&slow).unwrap();
        let drain = Drain::without_thread(common.clone());
        (drain, Idle { common, slow })
    }
}
