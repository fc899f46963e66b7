//! Removes files that no checkpoint needs any more.
//!
//! A node removes the files of its own number. A job that goes on with fewer nodes, or with its
//! hosts in another order, has left files of other numbers. Such a file, whole or half-written,
//! goes when no committed checkpoint has its step any more (until then, a program that restarts
//! may be rebuilding it):
//!
//! - from a local folder if no writer has the lock of that number there, and the files do not
//!   belong to another manifest. So in a folder that several nodes share, each removes its own
//!   files;
//! - from the slow tier if this job has no node of that number. Node 0 removes it.

use super::messages::Messages;
use super::names;
use super::prepared::Prepared;
use super::record::Part;
use super::writer::{JobWriter, files};
use crate::error::WriteError;
use crate::file::{Fault, Lock, atomic};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The files in a folder of a node that does not use it any more.
#[derive(Default)]
struct Left {
    /// The files whose step no committed checkpoint has.
    gone: Vec<PathBuf>,
    /// There are others.
    others: bool,
    /// The list of what the node has prepared, whole or half-written.
    lists: Vec<PathBuf>,
}

impl<M: Messages> JobWriter<M> {
    /// Removes the files of this node that are not kept, on both tiers, and those that nodes have
    /// left which the job does not have any more.
    pub(super) fn remove_files(
        &self,
        local: &BTreeSet<u64>,
        slow: &BTreeSet<u64>,
    ) -> Result<(), WriteError> {
        let settings = &self.settings;
        self.remove_own(&settings.local, local)?;
        if settings.local != settings.slow {
            self.remove_own(&settings.slow, slow)?;
        }
        self.remove_leftovers()
    }

    /// Removes the files of this node in `dir` whose step is before the newest committed one, and
    /// is not in `kept`.
    fn remove_own(&self, dir: &Path, kept: &BTreeSet<u64>) -> Result<(), WriteError> {
        let newest = self.newest();
        let own: BTreeSet<&str> = self.own_names();
        for path in files(dir) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let step = names::step_of(&self.settings.group, self.node(), &name);
            let goes = step.is_some_and(|step| step <= newest && !kept.contains(&step));
            // A full file and an increment of the same step: one is of an earlier attempt.
            let stale = step == Some(newest) && !own.contains(&*name);
            if goes || stale {
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// Returns the names of the files of the newest committed step.
    fn own_names(&self) -> BTreeSet<&str> {
        let part: Option<&Part> = self.last.as_ref().map(|last| &last.part);
        let files = part.map(|part| [Some(&part.file), part.parity.as_ref()]);
        let files = files.into_iter().flatten().flatten();
        files.map(|file| file.file.as_str()).collect()
    }

    /// Removes files that nodes have left which the job had before.
    fn remove_leftovers(&self) -> Result<(), WriteError> {
        let (local, slow) = (&self.settings.local, &self.settings.slow);
        if self.lock.is_held() {
            for (number, left) in self.leftovers(local, |number| number != self.node()) {
                if let Some(_lock) = self.lock_of(number)
                    && self.is_own_manifest_of(number)
                {
                    left.remove()?;
                }
            }
        }
        if self.node() == 0 && local != slow {
            let nodes = self.messages.nodes();
            for left in self.leftovers(slow, |number| number >= nodes).into_values() {
                left.remove()?;
            }
        }
        Ok(())
    }

    /// Returns what may go of the files in `dir` of the nodes that `of` accepts, if anything may.
    fn leftovers(&self, dir: &Path, of: impl Fn(usize) -> bool) -> BTreeMap<usize, Left> {
        let (group, newest) = (&self.settings.group, self.newest());
        let mut all: BTreeMap<usize, Left> = BTreeMap::new();
        for path in files(dir) {
            let name = path.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            let file = atomic::target(&name).unwrap_or(&name);
            let Some(number) = names::node_of(group, file).filter(|number| of(*number)) else {
                continue;
            };
            let left = all.entry(number).or_default();
            match names::step_of(group, number, file) {
                Some(step) if step > newest || self.known.contains_key(&step) => left.others = true,
                Some(_) => left.gone.push(path),
                None => left.lists.push(path),
            }
        }
        all.retain(|_, left| !left.gone.is_empty() || !left.others);
        all
    }

    /// Locks the local folder for another node. Returns `None` if a writer uses it as that node, or
    /// if that cannot be told.
    fn lock_of(&self, number: usize) -> Option<Lock> {
        let name = names::node(&self.settings.group, number);
        let lock = Lock::take(&self.settings.local, &name, self.settings.options.mode);
        lock.ok().filter(Lock::is_held)
    }

    /// Returns true unless the files of another node in the local folder belong to another
    /// manifest.
    fn is_own_manifest_of(&self, number: usize) -> bool {
        let list = Prepared::read(&self.settings.local, &self.settings.group, number);
        list.is_ok_and(|list| list.parts.is_empty() || list.manifest == self.prepared.manifest)
    }

    /// Returns the newest committed step.
    fn newest(&self) -> u64 {
        self.known.keys().next_back().copied().unwrap_or(0)
    }
}

impl Left {
    /// Removes what may go. The list goes last, when it is all that is left.
    fn remove(&self) -> Result<(), WriteError> {
        let lists = self.lists.iter().filter(|_| !self.others);
        let mut all = self.gone.iter().chain(lists);
        all.try_for_each(|path| remove(path))
    }
}

/// Removes a file, which another node may have removed meanwhile.
fn remove(path: &Path) -> Result<(), WriteError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Fault::from(error).at(path)),
        _ => Ok(()),
    }
}
