//! The search for a checkpoint by processes that do not reach each other's folders: they tell each
//! other which files they see, check them, and send what others need.
//!
//! All processes call the same functions with the same steps, in the same order. Process 0 plans.

use super::carry::Process;
use super::collective::{broadcast, gather, whole};
use super::error::JobError;
use super::messages::{Lost, Messages};
use super::parity_file::{Header, Parity};
use super::places::Places;
use super::plan::{Key, Plan, Sight, Transfer, keys};
use super::record::{FileEntry, Steps};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Returns the committed steps that process 0 reads, on all processes. If it cannot read the
/// manifest, the others learn why.
pub fn shared<M: Messages>(
    messages: &mut M,
    group: &str,
    read: impl FnOnce() -> Result<Steps, JobError>,
) -> Result<Steps, JobError> {
    if messages.node() != 0 {
        let told: Result<Steps, String> = broadcast(messages, None)?;
        let group = group.to_owned();
        return told.map_err(|why| JobError::NotLookedFor { group, why });
    }
    let steps = read();
    let told = steps.as_ref().map_err(ToString::to_string);
    let _: Result<Steps, String> = broadcast(messages, Some(told.cloned()))?;
    steps
}

impl<M: Messages> Process<'_, M> {
    /// Brings each process the files of these nodes at a step, which are `needs` there, and all
    /// that they build on. The inner error says why a block of the step is lost. All get the same.
    pub fn bring(
        &mut self,
        step: u64,
        needs: BTreeSet<usize>,
    ) -> Result<Result<(), String>, JobError> {
        let Some(keys) = keys(self.steps, step) else {
            return Ok(Err("a checkpoint that it builds on is missing".to_owned()));
        };
        let own = self.look(&keys, needs);
        let transfers = match self.agree(step, own)? {
            Ok(transfers) => transfers,
            Err(lost) => return Ok(Err(lost)),
        };
        let carried = self.carry(&transfers)?;
        let votes = gather(self.messages, carried)?;
        let all: Result<Vec<()>, Vec<String>> = broadcast(self.messages, votes.map(whole))?;
        all.map_err(|why| JobError::NotRebuilt { step, why })?;
        Ok(Ok(()))
    }

    /// Returns which files this process sees.
    fn look(&self, keys: &BTreeSet<Key>, needs: BTreeSet<usize>) -> Sight {
        let sees = |key: &Key, sees: fn(&Places, &FileEntry) -> bool| {
            key.entry(self.steps)
                .is_some_and(|entry| sees(self.places, entry))
        };
        let (local, others): (BTreeSet<Key>, BTreeSet<Key>) =
            keys.iter().partition(|key| sees(key, Places::sees_local));
        let slow = others
            .into_iter()
            .filter(|key| sees(key, Places::sees_slow));
        Sight {
            local,
            slow: slow.collect(),
            needs,
        }
    }

    /// Agrees on what is sent: process 0 learns which files all see, lets them be checked, and
    /// plans. The inner error says why a block is lost.
    fn agree(&mut self, step: u64, own: Sight) -> Result<Result<Vec<Transfer>, String>, Lost> {
        let all = gather(self.messages, own)?;
        let mut plan = all.map(|all| Plan::new(self.steps, step, all));
        loop {
            let checks = plan.as_ref().map(Plan::checks);
            let checks: Vec<Vec<Key>> = broadcast(self.messages, checks)?;
            if checks.iter().all(Vec::is_empty) {
                break;
            }
            let own = checks.get(self.messages.node());
            let damaged = self.check(own.map_or(&[], Vec::as_slice));
            let damaged = gather(self.messages, damaged)?;
            if let (Some(plan), Some(damaged)) = (&mut plan, damaged) {
                plan.note(&checks, &damaged);
            }
        }
        broadcast(self.messages, plan.map(|plan| plan.transfers()))
    }

    /// Checks files, and returns those that are not whole here.
    fn check(&mut self, keys: &[Key]) -> BTreeSet<Key> {
        let mut damaged = BTreeSet::new();
        for key in keys {
            match self.find_whole(*key) {
                Some(path) => drop(self.whole.insert(*key, path)),
                None => drop(damaged.insert(*key)),
            }
        }
        damaged
    }

    /// Returns the path of a file whose hash is right. Parity must be that of its set: otherwise
    /// the sizes that the manifest gives for the files of the set may be impossible ones.
    fn find_whole(&self, key: Key) -> Option<PathBuf> {
        let path = self.places.find(key.entry(self.steps)?).ok()?;
        if key.is_parity {
            let header = Header::of(self.group, key.commit(self.steps)?, key.node)?;
            Parity::open(&path, &header).ok()?;
        }
        Some(path)
    }
}
