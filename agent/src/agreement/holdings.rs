//! The pinned steps of an agent: candidates, those of the round in progress, and the agreed one.

use super::decide::Agreed;
use super::guards::{Guard, Guards};
use crate::regions::RunId;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

/// The slots that a region must have besides the window: for the agreed version, for the one that
/// is being published, and for one that others observe.
pub(super) const SPARE: usize = 3;

/// The least window with increments. They keep two steps pinned: the one that they build on, and
/// the last one that was written, which may never be committed. One place is left for candidates.
pub const WINDOW_FOR_INCREMENTS: usize = 3;

/// The versions of one step of all local ranks, pinned.
#[derive(Debug)]
pub struct Held<P> {
    /// The run and the step.
    pub of: Agreed,
    /// The pins.
    pub pin: P,
}

/// The steps that an agent has pinned.
pub(super) struct Holdings<P> {
    window: usize,
    guards: Guards,
    /// Nothing may go until there is a whole result, because some agents may have got a result that
    /// this one has not.
    frozen: bool,
    agreed: Option<Arc<Held<P>>>,
    /// Steps of one run, in ascending order, that are newer than the agreed one.
    candidates: VecDeque<Arc<Held<P>>>,
    /// The steps of the round in progress. They keep their pins (G1).
    offered: Vec<Arc<Held<P>>>,
    /// Steps that were agreed once, and may still be in use.
    used: Vec<Weak<Held<P>>>,
}

impl<P> Holdings<P> {
    pub(super) fn new(window: usize, guards: Guards) -> Self {
        Holdings {
            window,
            guards,
            frozen: false,
            agreed: None,
            candidates: VecDeque::new(),
            offered: Vec::new(),
            used: Vec::new(),
        }
    }

    pub(super) fn agreed(&self) -> Option<&Arc<Held<P>>> {
        self.agreed.as_ref()
    }

    /// Returns the steps of the round in progress.
    pub(super) fn offered(&self) -> impl Iterator<Item = Agreed> {
        self.offered.iter().map(|held| held.of)
    }

    /// Returns all steps that are pinned, each once.
    pub(super) fn all(&self) -> Vec<Agreed> {
        let used: Vec<_> = self.used.iter().filter_map(Weak::upgrade).collect();
        let kept = self.agreed.iter().chain(&self.candidates);
        let mut all = Vec::new();
        for held in kept.chain(&self.offered).chain(&used) {
            if !all.contains(&held.of) {
                all.push(held.of);
            }
        }
        all
    }

    /// Returns the newest step of this run that is a candidate or agreed.
    pub(super) fn newest(&self, run: RunId) -> Option<u64> {
        let kept = self.candidates.iter().chain(&self.agreed);
        let steps = kept.filter(|held| held.of.run == run);
        steps.map(|held| held.of.step).max()
    }

    /// Lets go of the candidates of all other runs. New ones are of this run.
    pub(super) fn begin_run(&mut self, run: RunId) {
        self.retain(|of| of.run == run);
    }

    /// Lets go of all candidates but this step.
    pub(super) fn clear_for(&mut self, step: u64) {
        self.retain(|of| of.step == step);
    }

    fn retain(&mut self, wanted: impl Fn(Agreed) -> bool) {
        if !self.frozen {
            self.candidates.retain(|held| wanted(held.of));
        }
    }

    /// Returns true if one more step may be pinned (G5). Lets go of the oldest candidate for it,
    /// but not of one that is offered in the round in progress: that one stays pinned anyway (G1).
    pub(super) fn make_room(&mut self) -> bool {
        self.used.retain(|used| used.strong_count() > 0);
        if self.guards.off(Guard::Window) || self.has_room() {
            return true;
        }
        let mut offered = self.offered.iter().map(|held| held.of);
        let goes = self.candidates.front().map(|held| held.of);
        if self.frozen || goes.is_none_or(|goes| offered.any(|of| of == goes)) {
            return false;
        }
        self.candidates.pop_front();
        self.has_room()
    }

    /// Returns true if less is pinned than the window and the agreed step. Without an agreed step
    /// its place stays free.
    fn has_room(&self) -> bool {
        let agreed = usize::from(self.agreed.is_none());
        self.candidates.len() < self.window && self.all().len() + agreed <= self.window
    }

    /// Adds a candidate, which is newer than all others.
    pub(super) fn add(&mut self, of: Agreed, pin: P) {
        self.candidates.push_back(Arc::new(Held { of, pin }));
    }

    /// Begins a round. Returns the steps of this run that it offers.
    pub(super) fn offer(&mut self, run: RunId) -> Vec<u64> {
        let kept = self.agreed.iter().chain(&self.candidates);
        let offered: Vec<_> = kept.filter(|held| held.of.run == run).cloned().collect();
        let steps = offered.iter().map(|held| held.of.step).collect();
        if !self.guards.off(Guard::KeepOffered) {
            self.offered = offered;
        }
        steps
    }

    /// Keeps everything until there is a whole result, because the round failed.
    pub(super) fn freeze(&mut self) {
        self.frozen = true;
        let known = |held: &Arc<Held<P>>| self.candidates.iter().any(|c| c.of == held.of);
        let agreed = self.agreed.as_ref().map(|held| held.of);
        let mut lost: Vec<_> = self.offered.drain(..).collect();
        lost.retain(|held| agreed != Some(held.of) && !known(held));
        self.candidates.extend(lost);
        self.candidates
            .make_contiguous()
            .sort_by_key(|held| held.of.step);
    }

    /// Ends a round with this agreed step.
    pub(super) fn end_round(&mut self, whole: bool, agreed: Option<Agreed>) {
        self.frozen &= !whole;
        let offered = std::mem::take(&mut self.offered);
        let changed = agreed.filter(|new| self.agreed.as_ref().is_none_or(|old| old.of != *new));
        let Some(new) = changed else { return };
        let mut all = offered.into_iter().chain(self.candidates.iter().cloned());
        let found = all.find(|held| held.of == new);
        drop(all);
        let older = |of: Agreed| of.run == new.run && of.step <= new.step;
        self.candidates.retain(|held| !older(held.of));
        if self.guards.off(Guard::KeepAgreed) {
            return;
        }
        if let Some(old) = std::mem::replace(&mut self.agreed, found) {
            self.used.push(Arc::downgrade(&old));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pins a step and makes it the agreed one. Returns `None` if there is no room for it.
    fn agree(holdings: &mut Holdings<()>, step: u64) -> Option<Arc<Held<()>>> {
        let run = RunId(1);
        let of = Agreed { run, step };
        if !holdings.make_room() {
            return None;
        }
        holdings.add(of, ());
        holdings.offer(run);
        holdings.end_round(true, Some(of));
        holdings.agreed().cloned()
    }

    #[test]
    fn steps_go_on_after_an_increment_that_was_not_committed_if_the_window_is_wide_enough() {
        for window in 1..=5 {
            let mut holdings = Holdings::new(window, Guards::default());
            let base = agree(&mut holdings, 100);
            let written = agree(&mut holdings, 200);
            let goes_on = (201..210).all(|step| agree(&mut holdings, step).is_some());
            assert!(base.is_some() && written.is_some());
            assert_eq!(goes_on, window >= WINDOW_FOR_INCREMENTS, "window {window}");
        }
    }
}
