//! The plan by which files of a checkpoint come to the processes that need them: the files that
//! each process sees, those of them that are whole, and what is sent.

use super::record::{Commit, FileEntry, Part, Steps, chain};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A file of a checkpoint: the blocks of a node, or the parity that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    pub step: u64,
    pub node: usize,
    pub is_parity: bool,
}

impl Key {
    /// Returns the key of the file of a part.
    pub fn file(part: &Part) -> Key {
        Key {
            step: part.step,
            node: part.node,
            is_parity: false,
        }
    }

    /// Returns the commit that the file belongs to.
    pub fn commit(self, steps: &Steps) -> Option<&Commit> {
        Some(&steps.get(&self.step)?.commit)
    }

    /// Returns what the manifest says of the file.
    pub fn entry(self, steps: &Steps) -> Option<&FileEntry> {
        let part = self.commit(steps)?.part(self.node)?;
        match self.is_parity {
            true => part.parity.as_ref(),
            false => Some(&part.file),
        }
    }
}

/// The files that one process sees, by names and sizes, and those that it needs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sight {
    /// The files in its own folders.
    pub local: BTreeSet<Key>,
    /// The files on the slow tier that are not in its own folders. Process 0 tells all, and the
    /// others tell those that they need.
    pub slow: BTreeSet<Key>,
    /// The nodes whose files it needs.
    pub needs: BTreeSet<usize>,
}

/// A file that a process gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    pub key: Key,
    pub to: usize,
    pub from: Source,
}

/// Where a file comes from. Numbers are those of processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A process that has it.
    Copy(usize),
    /// The rest of its set: for each member, the process that has its file and its parity.
    Set {
        files: Vec<Option<usize>>,
        parities: Vec<Option<usize>>,
    },
}

/// Returns all files from which the checkpoint of `step` may be read, parity among them, or `None`
/// if a step that it builds on is missing.
pub fn keys(steps: &Steps, step: u64) -> Option<BTreeSet<Key>> {
    let built_on: BTreeSet<u64> = files(steps, step)?
        .into_iter()
        .map(|key| key.step)
        .collect();
    let mut all = BTreeSet::new();
    for step in built_on {
        for part in &steps.get(&step)?.commit.parts {
            let file = Key::file(part);
            all.insert(file);
            all.extend(part.parity.as_ref().map(|_| Key {
                is_parity: true,
                ..file
            }));
        }
    }
    Some(all)
}

/// Returns the files that the checkpoint of `step` is read from.
fn files(steps: &Steps, step: u64) -> Option<BTreeSet<Key>> {
    let mut files = BTreeSet::new();
    for part in &steps.get(&step)?.commit.parts {
        files.extend(chain(steps, step, part.node)?.into_iter().map(Key::file));
    }
    Some(files)
}

/// The plan for one step.
pub struct Plan<'s> {
    steps: &'s Steps,
    step: u64,
    processes: usize,
    /// The files that are seen, by which processes. Those on the slow tier are the same for all.
    seen: BTreeMap<Key, BTreeSet<(Tier, usize)>>,
    /// The nodes whose files are needed, by which processes.
    needs: BTreeMap<usize, BTreeSet<usize>>,
    /// The files that are whole, and the processes that have checked that.
    whole: BTreeMap<Key, BTreeSet<usize>>,
}

/// The folder in which a process sees a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Local,
    Slow,
}

impl<'s> Plan<'s> {
    /// Returns the plan for what all processes see of a step.
    pub fn new(steps: &'s Steps, step: u64, all: &[Sight]) -> Plan<'s> {
        let (mut seen, mut needs) = (BTreeMap::new(), BTreeMap::new());
        for (process, sight) in all.iter().enumerate() {
            for (tier, keys) in [(Tier::Local, &sight.local), (Tier::Slow, &sight.slow)] {
                for key in keys {
                    let by: &mut BTreeSet<_> = seen.entry(*key).or_default();
                    by.insert((tier, process));
                }
            }
            for node in &sight.needs {
                let by: &mut BTreeSet<_> = needs.entry(*node).or_default();
                by.insert(process);
            }
        }
        Plan {
            steps,
            step,
            processes: all.len(),
            seen,
            needs,
            whole: BTreeMap::new(),
        }
    }

    /// Returns the files that each process must check next. If there are none, the plan is ready.
    /// A file that a process needs and sees is checked there, and all others by one process.
    pub fn checks(&self) -> Vec<Vec<Key>> {
        let files = files(self.steps, self.step).unwrap_or_default();
        let checks = self.unchecked(&files);
        match checks.iter().all(Vec::is_empty) {
            true => self.unchecked(&self.around(&self.lost())),
            false => checks,
        }
    }

    /// Notes which of the files that were checked are damaged.
    pub fn note(&mut self, checks: &[Vec<Key>], damaged: &[BTreeSet<Key>]) {
        for (process, (checked, damaged)) in checks.iter().zip(damaged).enumerate() {
            for key in checked {
                match damaged.contains(key) {
                    true => self.forget(key, process),
                    false => drop(self.whole.entry(*key).or_default().insert(process)),
                }
            }
        }
    }

    /// Forgets a damaged file. On the slow tier, it is the same one for all.
    fn forget(&mut self, key: &Key, process: usize) {
        let Some(by) = self.seen.get_mut(key) else {
            return;
        };
        if !by.remove(&(Tier::Local, process)) {
            by.retain(|(tier, _)| *tier != Tier::Slow);
        }
    }

    /// Returns what is sent so that each process gets what it needs, or why a block is lost.
    pub fn transfers(&self) -> Result<Vec<Transfer>, String> {
        let mut sources = BTreeMap::new();
        for key in self.lost() {
            sources.insert(key, self.rebuilt(&key)?);
        }
        let mut transfers = Vec::new();
        for (node, processes) in &self.needs {
            let parts = chain(self.steps, self.step, *node).unwrap_or_default();
            for key in parts.into_iter().map(Key::file) {
                let copy = self.one_with(&key).map(Source::Copy);
                let Some(from) = copy.or_else(|| sources.get(&key).cloned()) else {
                    continue;
                };
                let lacking = processes
                    .iter()
                    .filter(|process| !self.has(**process, &key));
                transfers.extend(lacking.map(|to| Transfer {
                    key,
                    to: *to,
                    from: from.clone(),
                }));
            }
        }
        Ok(transfers)
    }

    fn unchecked(&self, keys: &BTreeSet<Key>) -> Vec<Vec<Key>> {
        let mut checks = vec![Vec::new(); self.processes];
        for key in keys {
            let Some(seen) = self.seen.get(key) else {
                continue;
            };
            let mut own = self.own_checks(key, seen);
            if own.is_empty() && self.one_with(key).is_none() {
                // The one with the least to do, in its own folders if one sees it there.
                let by = seen
                    .iter()
                    .min_by_key(|(tier, by)| (*tier, checks[*by].len()));
                own.extend(by.map(|(_, process)| *process));
            }
            own.into_iter()
                .for_each(|process| checks[process].push(*key));
        }
        checks
    }

    /// Returns the processes that need a file, see it, and have not checked it.
    fn own_checks(&self, key: &Key, seen: &BTreeSet<(Tier, usize)>) -> Vec<usize> {
        let needs = self.needs.get(&key.node).filter(|_| !key.is_parity);
        let sees = |process: &usize| {
            let mut tiers = [Tier::Local, Tier::Slow].into_iter();
            tiers.any(|tier| seen.contains(&(tier, *process))) && !self.has(*process, key)
        };
        needs.into_iter().flatten().copied().filter(sees).collect()
    }

    /// Returns the files of which no process has a whole one.
    fn lost(&self) -> Vec<Key> {
        let files = files(self.steps, self.step).unwrap_or_default();
        let lost = |key: &Key| self.one_with(key).is_none();
        files.into_iter().filter(lost).collect()
    }

    /// Returns the files and the parity of the sets of some files.
    fn around(&self, lost: &[Key]) -> BTreeSet<Key> {
        let mut all = BTreeSet::new();
        for key in lost {
            let commit = key.commit(self.steps);
            let set = commit.and_then(|commit| commit.set_of(key.node));
            for node in set.unwrap_or_default() {
                all.extend([false, true].map(|is_parity| Key {
                    node: *node,
                    is_parity,
                    ..*key
                }));
            }
        }
        all
    }

    /// Returns how a lost file is rebuilt, or why it cannot be.
    fn rebuilt(&self, key: &Key) -> Result<Source, String> {
        let commit = key.commit(self.steps).ok_or("it is not committed")?;
        let set = commit.set_of(key.node).unwrap_or_default();
        let holders = |is_parity| {
            let of = |node: &usize| Key {
                node: *node,
                is_parity,
                ..*key
            };
            let holder = |node: &usize| self.one_with(&of(node));
            set.iter().map(holder).collect::<Vec<Option<usize>>>()
        };
        let (files, parities) = (holders(false), holders(true));
        let there = |all: &[Option<usize>]| all.iter().map(Option::is_some).collect::<Vec<_>>();
        let member = set.iter().position(|node| *node == key.node);
        let is_enough = |member| {
            let redundancy = commit.redundancy;
            redundancy.can_rebuild(member, &there(&files), &there(&parities))
        };
        match member.is_some_and(is_enough) {
            true => Ok(Source::Set { files, parities }),
            false => Err(format!(
                "the file of node {} at step {} is lost, and too little is left of its set {set:?}",
                key.node, key.step
            )),
        }
    }

    fn one_with(&self, key: &Key) -> Option<usize> {
        self.whole.get(key)?.first().copied()
    }

    fn has(&self, process: usize, key: &Key) -> bool {
        let has = |all: &BTreeSet<usize>| all.contains(&process);
        self.whole.get(key).is_some_and(has)
    }
}
