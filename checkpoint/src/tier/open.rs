//! A tier that is open for writing. Only one process can have it open at a time.

use super::contents::{Contents, Entry, Event};
use super::listed::Listed;
use super::manifest::Manifest;
use super::retention::Retention;
use super::stored;
use crate::error::WriteError;
use crate::file::{Dir, Fault, Lock, Mode, atomic, seal};
use crate::format::names;
use crate::series::list;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tcasm_core::testing::fault;

/// A tier of a run: its folder, its manifest and its lock.
#[derive(Debug)]
pub struct Tier {
    dir: PathBuf,
    name: String,
    mode: Mode,
    manifest: Manifest,
    /// The list of its VTKHDF files.
    listed: Listed,
    /// `None` only while the tier is opened anew, or after that failed.
    lock: Option<Lock>,
}

impl Tier {
    /// Opens the existing folder `dir` as a tier of the run `run`, whose checkpoints are called
    /// `name`. If `run` is `None`, the tier may belong to any run, or to a new one.
    ///
    /// Repairs what a killed writer has left: removes temporary files, forgets lines without a
    /// file, and enters files without a line.
    pub fn open(dir: &Path, name: &str, run: Option<&str>, mode: Mode) -> Result<Self, WriteError> {
        if !names::usable(name) {
            return Err(WriteError::Name(name.to_owned()));
        }
        if !dir.is_dir() {
            return Err(WriteError::NoDirectory(dir.to_owned()));
        }
        let lock = Lock::take(dir, name, mode)?;
        if lock.is_held() {
            remove_leftovers(dir, name);
        }
        let mut tier = Tier {
            dir: dir.to_owned(),
            name: name.to_owned(),
            mode,
            manifest: Manifest::open(dir, name, run, mode)?,
            listed: Listed::new(dir, name, mode),
            lock: Some(lock),
        };
        tier.forget_lost()?;
        tier.enter_unlisted()?;
        Ok(tier)
    }

    /// Returns the folder of the tier.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the name that the checkpoints have in common.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the permission bits of files that are written here.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns what the manifest says.
    pub fn contents(&self) -> &Contents {
        self.manifest.contents()
    }

    /// Writes the list of its VTKHDF files if it is due.
    pub fn update_list(&mut self) -> Result<(), WriteError> {
        let changes = self.manifest.changes();
        self.listed.update(self.manifest.contents(), changes)
    }

    /// Writes the list of its VTKHDF files if it is not up to date.
    pub fn complete_list(&mut self) -> Result<(), WriteError> {
        let changes = self.manifest.changes();
        self.listed.complete(self.manifest.contents(), changes)
    }

    /// Returns the path of the file of `entry` on this tier.
    pub fn path(&self, entry: &Entry) -> PathBuf {
        self.dir.join(&entry.file)
    }

    /// Checks that a new checkpoint may get the name `path` in this folder. An older checkpoint may
    /// have that name, but no file of another program.
    pub fn check_free(&self, path: &Path) -> Result<(), WriteError> {
        let Some(found) = names::Found::at(path) else {
            return Ok(());
        };
        let known = self.contents().items.get(&found.step);
        match known.is_some_and(|item| self.path(&item.entry) == found.path) {
            true => Ok(()),
            false => stored::check_free(&found),
        }
    }

    /// Enters a complete checkpoint, whose file already has its name. Removes the file that it
    /// replaces, if that has another name.
    pub fn complete(&mut self, entry: Entry) -> Result<(), WriteError> {
        let replaced = self.contents().items.get(&entry.step);
        let old = replaced.map(|item| item.entry.file.clone());
        let new = entry.file.clone();
        self.manifest.append(Event::Complete(entry))?;
        fault::pass("replacing");
        // A full checkpoint may replace an increment, or an increment a full one.
        match old.filter(|old| *old != new) {
            Some(old) => remove(&self.dir.join(old)),
            None => Ok(()),
        }
    }

    /// Marks the checkpoint of `step` as complete on the next tier.
    pub fn drained(&mut self, step: u64) -> Result<(), WriteError> {
        self.manifest.append_or_note(Event::Drained { step })
    }

    /// Marks the checkpoint of `step` as not complete on the next tier. For this it is entered
    /// again.
    pub fn not_drained(&mut self, step: u64) -> Result<(), WriteError> {
        let Some(item) = self.contents().items.get(&step) else {
            return Ok(());
        };
        let entry = item.entry.clone();
        self.manifest.append_or_note(Event::Complete(entry))
    }

    /// Notes that the checkpoint of `step` could not be written.
    pub fn failed(&mut self, step: u64, why: &str) -> Result<(), WriteError> {
        let why = why.to_owned();
        self.manifest.append(Event::Failed { step, why })
    }

    /// Removes the checkpoints that `retention` does not keep, and returns how many. If there is a
    /// next tier, only those that it has are removed.
    pub fn apply_retention(
        &mut self,
        retention: &Retention,
        has_next: bool,
    ) -> Result<usize, WriteError> {
        let items = &self.contents().items;
        let mut steps = retention.dispensable(items);
        // A checkpoint that has to stay needs its bases. So compute the set again with such
        // checkpoints kept.
        let stays = |step: &u64| has_next && !items[step].drained;
        if steps.iter().any(stays) {
            let mut needed = retention.clone();
            needed.steps.extend(items.keys().copied().filter(stays));
            steps = needed.dispensable(items);
        }
        for step in &steps {
            self.remove(*step, "not to be kept")?;
        }
        Ok(steps.len())
    }

    /// Removes a checkpoint. Its line goes first, so that the manifest never names a file that is
    /// not there.
    fn remove(&mut self, step: u64, why: &str) -> Result<(), WriteError> {
        let Some(item) = self.contents().items.get(&step) else {
            return Ok(());
        };
        let path = self.path(&item.entry);
        let removed = Event::Removed {
            step,
            why: why.to_owned(),
        };
        match self.manifest.append(removed.clone()) {
            Err(WriteError::NoSpace { .. }) => {
                // Removing the file makes room for the line. If the process is killed in between,
                // the next start finds the line without a file and forgets it.
                remove(&path)?;
                return self.manifest.append(removed);
            }
            written => written?,
        }
        fault::pass("removing");
        remove(&path)
    }

    /// Removes the checkpoints of steps after `step`. The simulation has started again at an
    /// earlier step, and the checkpoint of `step` is complete.
    pub fn supersede(&mut self, step: u64) -> Result<(), WriteError> {
        let later = self.contents().items.range(step.saturating_add(1)..);
        let later: Vec<u64> = later.map(|(step, _)| *step).rev().collect();
        for later in later {
            self.remove(
                later,
                &format!("superseded by step {step} of a later start"),
            )?;
        }
        Ok(())
    }

    /// Returns true if the folder is still the one that was opened. It may have been unmounted or
    /// replaced meanwhile. Without its lock, the folder does not belong to this process.
    pub fn is_there(&self) -> bool {
        self.lock.is_some() && self.manifest.is_there()
    }

    /// Opens the folder again. It may be another one now, or hold a file that is not entered.
    pub fn reopen(&mut self) -> Result<(), WriteError> {
        self.lock = None;
        let run = self.contents().run.clone();
        *self = Tier::open(&self.dir, &self.name, Some(&run), self.mode)?;
        Ok(())
    }

    /// Takes a checkpoint that cannot be read out of the manifest. Its file, if there is one, stays
    /// where it is. The process that opens the tier next examines it again.
    pub fn forget(&mut self, step: u64, why: &str) -> Result<(), WriteError> {
        tracing::warn!(step, %why, "a checkpoint is lost");
        let why = why.to_owned();
        self.manifest.append_or_note(Event::Removed { step, why })
    }

    /// Takes a checkpoint whose file is damaged out of the manifest. The file is kept, under a name
    /// that ends in `.damaged`.
    pub fn set_aside(&mut self, step: u64, why: &str) -> Result<(), WriteError> {
        let Some(item) = self.contents().items.get(&step) else {
            return Ok(());
        };
        let path = self.path(&item.entry);
        let mut aside = path.clone().into_os_string();
        aside.push(".damaged");
        let why = format!("damaged: {why}");
        self.manifest.append(Event::Removed { step, why })?;
        fs::rename(&path, &aside).map_err(|e| Fault::from(e).at(&path))
    }

    /// Takes checkpoints out of the manifest whose files are gone or were replaced.
    fn forget_lost(&mut self) -> Result<(), WriteError> {
        let lost = |entry: &Entry| match seal::identity(&self.path(entry)) {
            Ok(seal) if seal.as_ref() == Some(&entry.seal) => None,
            Ok(_) => Some("its file was replaced".to_owned()),
            Err(error) => Some(format!("its file cannot be read: {error}")),
        };
        let items = self.contents().items.values();
        let lost: Vec<_> = items
            .filter_map(|item| Some((item.entry.step, lost(&item.entry)?)))
            .collect();
        lost.into_iter()
            .try_for_each(|(step, why)| self.forget(step, &why))
    }

    /// Enters files that their writer could not enter before it was killed, and removes those that
    /// it could not remove any more.
    fn enter_unlisted(&mut self) -> Result<(), WriteError> {
        let found = names::in_dir(&self.dir).map_err(|e| Fault::from(e).at(&self.dir))?;
        for file in found.into_iter().filter(|f| f.name == self.name) {
            let known = self.contents().items.get(&file.step);
            if known.is_some_and(|item| self.path(&item.entry) == file.path) {
                continue;
            }
            match stored::describe(&file) {
                // This is an export that is named like a checkpoint. A user has put it here.
                Ok(entry) if entry.id.is_empty() => {
                    tracing::warn!(
                        "{:?} is ignored: it is not a checkpoint of a run",
                        file.path
                    );
                }
                // This includes a full checkpoint that compaction wrote but did not enter, if the
                // chain that it replaces has lost a file since.
                Ok(entry) if !self.contents().is_whole(file.step) => {
                    tracing::info!("entered {:?}, whose writer was killed", file.path);
                    // Its name may not be on the disk, and the file that it replaces goes.
                    let named = Dir::open(&self.dir).and_then(|dir| dir.sync());
                    named.map_err(|e| Fault::from(e).at(&file.path))?;
                    let old = known.map(|item| self.path(&item.entry));
                    self.manifest.append_or_note(Event::Complete(entry))?;
                    old.map_or(Ok(()), |old| remove(&old))?;
                }
                Ok(_) => remove(&file.path)?,
                Err(error) => tracing::warn!("{:?} is ignored: {error}", file.path),
            }
        }
        Ok(())
    }
}

impl Drop for Tier {
    /// Completes the list of checkpoints, which may lack the last ones. Without its lock, the
    /// folder does not belong to this process any more.
    fn drop(&mut self) {
        if self.listed.was_written()
            && self.is_there()
            && let Err(error) = self.complete_list()
        {
            tracing::warn!("the list of checkpoints is not up to date: {error}");
        }
    }
}

/// Removes the temporary files that killed writers of `name` have left in `dir`.
fn remove_leftovers(dir: &Path, name: &str) {
    let list = list::file_name(name);
    let ours = |file: &str| file == list || names::parse(file).is_some_and(|(n, ..)| n == name);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let file = entry.file_name();
        if file.to_str().is_some_and(|f| atomic::is_temporary(f, ours)) {
            match fs::remove_file(entry.path()) {
                Ok(()) => tracing::info!("removed {file:?}, left by a killed run"),
                Err(e) => tracing::warn!("cannot remove {file:?}, left by a killed run: {e}"),
            }
        }
    }
}

/// Removes the file at `path`. A file that is already gone is not an error.
fn remove(path: &Path) -> Result<(), WriteError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Fault::from(e).at(path)),
        _ => Ok(()),
    }
}
