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
use super::record::{FileEntry, chain};
use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

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
        let own = self.look(&keys, needs.clone());
        let transfers = match self.agree(step, own)? {
            Ok(transfers) => transfers,
            Err(lost) => return Ok(Err(lost)),
        };
        let carried = self
            .carry(&transfers)?
            .and_then(|()| self.check_together(step, &needs));
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
        // With many nodes, most files are on no slow tier, so one look at its names saves many.
        let names = names_in(&self.places.slow);
        let is_named = |key: &Key| {
            let entry = key.entry(self.steps);
            entry.is_some_and(|entry| names.contains(OsStr::new(&entry.file)))
        };
        let all = self.messages.node() == 0;
        let slow = others
            .into_iter()
            .filter(|key| all || needs.contains(&key.node));
        let slow = slow.filter(|key| is_named(key) && sees(key, Places::sees_slow));
        Sight {
            local,
            slow: slow.collect(),
            needs,
        }
    }

    /// Checks that what this process needs can be brought into one folder, where increments find
    /// what they build on.
    fn check_together(&self, step: u64, needs: &BTreeSet<usize>) -> Result<(), String> {
        let dirs = |node: &usize| {
            let chain = chain(self.steps, step, *node)
                .unwrap_or_default()
                .into_iter();
            let dir = |part| self.whole.get(&Key::file(part))?.parent();
            chain.filter_map(dir).collect::<BTreeSet<&Path>>()
        };
        match self.places.rebuild_in.is_none() && needs.iter().any(|node| dirs(node).len() > 1) {
            true => {
                Err("its files are in several folders; give one to rebuild files in".to_owned())
            }
            false => Ok(()),
        }
    }

    /// Agrees on what is sent: process 0 learns which files all see, lets them be checked, and
    /// plans. The inner error says why a block is lost.
    fn agree(&mut self, step: u64, own: Sight) -> Result<Result<Vec<Transfer>, String>, Lost> {
        let all = gather(self.messages, own)?;
        let mut plan = all.map(|all| Plan::new(self.steps, step, &all));
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

/// Returns the names in a folder. If it cannot be read, there are none.
fn names_in(dir: &Path) -> HashSet<OsString> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}
