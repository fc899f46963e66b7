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
    /// The files on the slow tier that are not in its own folders.
    pub slow: BTreeSet<Key>,
    /// The nodes whose files it needs.
    pub needs: BTreeSet<usize>,
}

impl Sight {
    fn sees(&self, key: &Key) -> bool {
        self.local.contains(key) || self.slow.contains(key)
    }
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
    let mut all = BTreeSet::new();
    for key in files(steps, step)? {
        let with = |node: usize, is_parity| Key {
            node,
            is_parity,
            ..key
        };
        for part in &key.commit(steps)?.parts {
            all.insert(with(part.node, false));
            all.extend(part.parity.as_ref().map(|_| with(part.node, true)));
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
    all: Vec<Sight>,
    /// The files that are whole, and the processes that have checked that.
    whole: BTreeMap<Key, BTreeSet<usize>>,
}

impl<'s> Plan<'s> {
    /// Returns the plan for what all processes see of a step.
    pub fn new(steps: &'s Steps, step: u64, all: Vec<Sight>) -> Plan<'s> {
        Plan {
            steps,
            step,
            all,
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
                if damaged.contains(key) {
                    self.all[process].local.remove(key);
                    self.all[process].slow.remove(key);
                } else {
                    self.whole.entry(*key).or_default().insert(process);
                }
            }
        }
    }

    /// Returns what is sent so that each process gets what it needs, or why a block is lost.
    pub fn transfers(&self) -> Result<Vec<Transfer>, String> {
        let mut sources = BTreeMap::new();
        for key in self.lost() {
            sources.insert(key, self.rebuilt(&key)?);
        }
        let mut transfers = Vec::new();
        for (to, sight) in self.all.iter().enumerate() {
            for node in &sight.needs {
                let parts = chain(self.steps, self.step, *node).unwrap_or_default();
                for key in parts.into_iter().map(Key::file) {
                    let copy = self.one_with(&key).map(Source::Copy);
                    let from = copy.or_else(|| sources.get(&key).cloned());
                    let is_there = self.has(to, &key);
                    transfers.extend(from.filter(|_| !is_there).map(|from| Transfer {
                        key,
                        to,
                        from,
                    }));
                }
            }
        }
        Ok(transfers)
    }

    fn unchecked(&self, keys: &BTreeSet<Key>) -> Vec<Vec<Key>> {
        let mut checks = vec![Vec::new(); self.all.len()];
        for key in keys {
            let mut own = self.own_checks(key);
            if own.is_empty() && self.one_with(key).is_none() {
                own.extend(self.checker(key, &checks));
            }
            own.into_iter()
                .for_each(|process| checks[process].push(*key));
        }
        checks
    }

    /// Returns the processes that need a file, see it, and have not checked it.
    fn own_checks(&self, key: &Key) -> Vec<usize> {
        let needs = |(process, sight): (usize, &Sight)| {
            let is_own = !key.is_parity && sight.needs.contains(&key.node) && sight.sees(key);
            (is_own && !self.has(process, key)).then_some(process)
        };
        self.all.iter().enumerate().filter_map(needs).collect()
    }

    /// Returns the process with the least to do that sees a file, in its own folders if one does.
    fn checker(&self, key: &Key, checks: &[Vec<Key>]) -> Option<usize> {
        let sees = (0..self.all.len()).filter(|process| self.all[*process].sees(key));
        sees.min_by_key(|process| {
            let is_local = self.all[*process].local.contains(key);
            (!is_local, checks[*process].len())
        })
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
