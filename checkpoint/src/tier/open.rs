//! One tier, open to write: by one process at a time.

use super::contents::{Contents, Entry, Event};
use super::manifest::Manifest;
use super::retention::Retention;
use crate::error::{Fault, WriteError};
use crate::lock::Lock;
use crate::{Mode, atomic, find, seal, series, stored};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tcasm_core::fault;

/// A tier of a run.
#[derive(Debug)]
pub struct Tier {
    dir: PathBuf,
    name: String,
    mode: Mode,
    manifest: Manifest,
    /// None before the list of its VTKHDF files is written.
    pub(crate) listed: Option<series::Listed>,
    /// None only while it is opened anew.
    lock: Option<Lock>,
}

impl Tier {
    /// Open `dir`, which exists, as a tier of the run `run` (of any, or a new one, if none is named) whose checkpoints are called
    /// `name`. What a killed writer has left is put in order.
    pub fn open(dir: &Path, name: &str, run: Option<&str>, mode: Mode) -> Result<Self, WriteError> {
        if !find::usable(name) {
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
            listed: None,
            lock: Some(lock),
        };
        tier.forget_lost()?;
        tier.take_up()?;
        Ok(tier)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the checkpoints are called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mode of the files that are written here.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What is there.
    pub fn contents(&self) -> &Contents {
        self.manifest.contents()
    }

    /// Returns how often what is there has changed since the tier was opened.
    pub fn changes(&self) -> u64 {
        self.manifest.changes()
    }

    /// The file of a checkpoint of this tier.
    pub fn path(&self, entry: &Entry) -> PathBuf {
        self.dir.join(&entry.file)
    }

    /// A checkpoint is complete, its file in place.
    pub fn complete(&mut self, entry: Entry) -> Result<(), WriteError> {
        let replaced = self.contents().items.get(&entry.step);
        let old = replaced.map(|item| item.entry.file.clone());
        let new = entry.file.clone();
        self.manifest.append(Event::Complete(entry))?;
        fault::pass("replacing");
        // A full one in place of an increment, or the other way round.
        match old.filter(|old| *old != new) {
            Some(old) => remove(&self.dir.join(old)),
            None => Ok(()),
        }
    }

    /// A checkpoint of this tier is complete on the next.
    pub fn drained(&mut self, step: u64) -> Result<(), WriteError> {
        self.manifest.append_or_note(Event::Drained { step })
    }

    /// A checkpoint of this tier is not complete on the next after all: it is entered anew.
    pub fn not_drained(&mut self, step: u64) -> Result<(), WriteError> {
        let Some(item) = self.contents().items.get(&step) else {
            return Ok(());
        };
        let entry = item.entry.clone();
        self.manifest.append_or_note(Event::Complete(entry))
    }

    /// A checkpoint could not be written, or not be drained.
    pub fn failed(&mut self, step: u64, why: &str) -> Result<(), WriteError> {
        let why = why.to_owned();
        self.manifest.append(Event::Failed { step, why })
    }

    /// Remove what `retention` does not keep; where there is a next tier, only what that has. Returns how many.
    pub fn tidy(&mut self, retention: &Retention, has_next: bool) -> Result<usize, WriteError> {
        let items = &self.contents().items;
        let mut steps = retention.dispensable(items);
        // From the first on that has to stay, others may need what comes after.
        let stays = |step: &u64| has_next && !items[step].drained;
        if steps.iter().any(stays) {
            let needed = Retention {
                steps: items.keys().copied().filter(stays).collect(),
                ..retention.clone()
            };
            steps = needed.dispensable(items);
        }
        for step in &steps {
            self.remove(*step, "not to be kept")?;
        }
        Ok(steps.len())
    }

    /// Remove a checkpoint: its line first, so that what the manifest says is there is there.
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
                // Room for the line comes from the file. (Killed in between, the next start finds the line without a file.)
                remove(&path)?;
                return self.manifest.append(removed);
            }
            written => written?,
        }
        fault::pass("removing");
        remove(&path)
    }

    /// Remove the checkpoints of later steps: the simulation has begun anew before them, and `step` is complete.
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

    /// Whether the folder is the one that was opened: it may have been away. Without its lock it is not ours.
    pub fn is_there(&self) -> bool {
        self.lock.is_some() && self.manifest.is_there()
    }

    /// Open the folder anew.
    pub fn reopen(&mut self) -> Result<(), WriteError> {
        self.lock = None;
        let run = self.contents().run.clone();
        *self = Tier::open(&self.dir, &self.name, Some(&run), self.mode)?;
        Ok(())
    }

    /// Takes a checkpoint that cannot be read out of the manifest. Its file, if there is one, stays
    /// where it is: the next to open the tier looks at it again.
    pub fn forget(&mut self, step: u64, why: &str) -> Result<(), WriteError> {
        tracing::warn!(step, %why, "a checkpoint is lost");
        let why = why.to_owned();
        self.manifest.append_or_note(Event::Removed { step, why })
    }

    /// A checkpoint whose file is damaged is none; the file stays, under another name.
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

    /// Take lines out whose files are gone, or are others.
    fn forget_lost(&mut self) -> Result<(), WriteError> {
        let lost = |entry: &Entry| match seal::identity(&self.path(entry)) {
            Ok(seal) if seal.as_ref() == Some(&entry.seal) => None,
            Ok(_) => Some("its file is another".to_owned()),
            Err(error) => Some(format!("its file cannot be read: {error}")),
        };
        let items = self.contents().items.values();
        let lost: Vec<_> = items
            .filter_map(|item| Some((item.entry.step, lost(&item.entry)?)))
            .collect();
        lost.into_iter()
            .try_for_each(|(step, why)| self.forget(step, &why))
    }

    /// Take up files that their writer could not enter any more, and remove those that it could not delete any more.
    fn take_up(&mut self) -> Result<(), WriteError> {
        let found = find::in_dir(&self.dir).map_err(|e| Fault::from(e).at(&self.dir))?;
        for file in found.into_iter().filter(|f| f.name == self.name) {
            let known = self.contents().items.get(&file.step);
            if known.is_some_and(|item| self.path(&item.entry) == file.path) {
                continue;
            }
            match stored::describe(&file) {
                // Somebody has put it there: an export, which is called like a checkpoint.
                Ok(entry) if entry.id.is_empty() => {
                    tracing::warn!(
                        "{:?} is left alone: it is no checkpoint of a run",
                        file.path
                    );
                }
                // Also the full one of a chain that has lost a file since it was compacted.
                Ok(entry) if !self.contents().is_whole(file.step) => {
                    tracing::info!("{:?} is taken up: its writer was killed", file.path);
                    let old = known.map(|item| self.path(&item.entry));
                    self.manifest.append_or_note(Event::Complete(entry))?;
                    old.map_or(Ok(()), |old| remove(&old))?;
                }
                Ok(_) => remove(&file.path)?,
                Err(error) => tracing::warn!("{:?} is left alone: {error}", file.path),
            }
        }
        Ok(())
    }
}

impl Drop for Tier {
    /// The list may lack the last checkpoints. Without its lock the folder is not ours any more.
    fn drop(&mut self) {
        if self.listed.is_some()
            && self.is_there()
            && let Err(error) = series::complete(self)
        {
            tracing::warn!("the list of checkpoints is not up to date: {error}");
        }
    }
}

fn remove_leftovers(dir: &Path, name: &str) {
    let list = series::file_name(name);
    let ours = |file: &str| file == list || find::parse(file).is_some_and(|(n, ..)| n == name);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let file = entry.file_name();
        if file.to_str().is_some_and(|f| atomic::is_temporary(f, ours)) {
            match fs::remove_file(entry.path()) {
                Ok(()) => tracing::info!("removed {file:?}, left by a killed run"),
                Err(e) => tracing::warn!("{file:?}, left by a killed run, stays: {e}"),
            }
        }
    }
}

fn remove(path: &Path) -> Result<(), WriteError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Fault::from(e).at(path)),
        _ => Ok(()),
    }
}
