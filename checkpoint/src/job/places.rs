//! The folders in which the files of a job's checkpoints are looked for.

use super::hashed;
use super::record::{Commit, FileEntry, Part, Steps, chain};
use crate::file::Mode;
use std::path::{Path, PathBuf};

/// Where the files of a job's checkpoints may be.
#[derive(Clone, Debug)]
pub struct Places {
    /// The slow tier, which has the manifest.
    pub slow: PathBuf,
    /// The folders of nodes that can be reached, in any order.
    pub locals: Vec<PathBuf>,
    /// The folder in which lost files are rebuilt, one of `locals` for example. Without it only
    /// checkpoints are used whose files are all there.
    pub rebuild_in: Option<PathBuf>,
    /// The permissions of rebuilt files, and of the file by which the ranks of a run choose.
    pub mode: Mode,
    /// True if a file that is in none of these folders is no error before it is read
    /// ([`only_own`](Self::only_own)).
    pub is_partial: bool,
}

impl Places {
    /// Returns the places of a job whose manifest is in `slow`.
    pub fn new(slow: impl Into<PathBuf>, locals: &[impl AsRef<Path>]) -> Places {
        let locals: Vec<PathBuf> = locals.iter().map(|dir| dir.as_ref().to_owned()).collect();
        Places {
            slow: slow.into(),
            locals,
            rebuild_in: None,
            mode: Mode::default(),
            is_partial: false,
        }
    }

    /// Returns the same places for a host that does not reach the folders of others. A checkpoint
    /// that is chosen is opened with those files that are here, as
    /// [`find_with`](super::JobCheckpoint::find_with) brings them, and a file that is not is an
    /// error when it is read.
    pub fn only_own(self) -> Places {
        Places {
            is_partial: true,
            ..self
        }
    }

    /// Returns the same places with a folder in which lost files are rebuilt.
    pub fn rebuild_in(self, dir: impl Into<PathBuf>) -> Places {
        Places {
            rebuild_in: Some(dir.into()),
            ..self
        }
    }

    /// Returns the path that the file of a node has or, if it is lost, may get. Returns `None` if
    /// it, or one that it builds on, is not there and cannot be rebuilt. Looks at the names and
    /// sizes of files only.
    pub(super) fn seen(&self, steps: &Steps, of: &Part) -> Option<PathBuf> {
        // Folders that have some files only were given what is needed. Nothing else is looked for
        // before it is read.
        if self.is_partial && self.find_by(&of.file, hashed::check_size).is_err() {
            return None;
        }
        let chain = chain(steps, of.step, of.node)?;
        let see = |part: &&Part| self.find_by(&part.file, hashed::check_size).ok();
        let seen: Vec<Option<PathBuf>> = chain.iter().map(see).collect();
        let newest = seen.first()?.clone();
        let Some(into) = &self.rebuild_in else {
            let dir = newest.as_deref()?.parent();
            let together =
                |path: &Option<PathBuf>| path.as_deref().is_some_and(|path| path.parent() == dir);
            return newest.clone().filter(|_| seen.iter().all(together));
        };
        let mut all = chain.iter().zip(&seen);
        let there = all.all(|(part, seen)| {
            let commit = &steps[&part.step].commit;
            seen.is_some() || self.may_be_rebuilt(commit, part.node)
        });
        there.then(|| newest.unwrap_or_else(|| into.join(&of.file.file)))
    }

    /// Returns true if enough is left of the set of a node to rebuild its file, by the names and
    /// sizes of files.
    fn may_be_rebuilt(&self, of: &Commit, node: usize) -> bool {
        let set = of.set_of(node).unwrap_or_default();
        let sees = |entry: Option<&FileEntry>| {
            entry.is_some_and(|entry| self.find_by(entry, hashed::check_size).is_ok())
        };
        let parts: Vec<Option<&Part>> = set.iter().map(|node| of.part(*node)).collect();
        let files: Vec<bool> = parts.iter().map(|p| sees(p.map(|p| &p.file))).collect();
        let parity = |part: &Option<&Part>| sees(part.and_then(|part| part.parity.as_ref()));
        let parities: Vec<bool> = parts.iter().map(parity).collect();
        let member = set.iter().position(|other| *other == node);
        member.is_some_and(|member| of.redundancy.can_rebuild(member, &files, &parities))
    }

    /// Returns true if a file of this name and size is in a folder of a node.
    pub(super) fn sees_local(&self, entry: &FileEntry) -> bool {
        let sees = |dir: &PathBuf| hashed::check_size(&dir.join(&entry.file), entry).is_ok();
        self.locals.iter().chain(&self.rebuild_in).any(sees)
    }

    /// Returns true if a file of this name and size is on the slow tier.
    pub(super) fn sees_slow(&self, entry: &FileEntry) -> bool {
        hashed::check_size(&self.slow.join(&entry.file), entry).is_ok()
    }

    /// Returns the path of a file that is whole, in the first folder that has it, or why there is
    /// none.
    pub(super) fn find(&self, entry: &FileEntry) -> Result<PathBuf, String> {
        self.find_by(entry, hashed::check)
    }

    /// The same for files that `check` accepts.
    fn find_by(
        &self,
        entry: &FileEntry,
        check: impl Fn(&Path, &FileEntry) -> Result<(), String>,
    ) -> Result<PathBuf, String> {
        let mut why = Vec::new();
        let dirs = self
            .locals
            .iter()
            .chain(&self.rebuild_in)
            .chain([&self.slow]);
        for path in dirs.map(|dir| dir.join(&entry.file)) {
            match check(&path, entry) {
                Ok(()) => return Ok(path),
                Err(error) => why.push(format!("{path:?}: {error}")),
            }
        }
        Err(why.join(", "))
    }
}
