//! The step that the ranks of a run continue from. The first rank that looks chooses it, and enters
//! it into a file on the slow tier, where the others find it. So a file that appears, vanishes or
//! becomes unreadable meanwhile cannot make ranks continue from different steps.
//!
//! The file begins with the choice. Each rank that continues appends a line. A rank that finds its
//! own line is of another start of the job, whose run has the same name, and the choice is not for
//! it.
//!
//! Over NFS, one of two lines that hosts append at the same time may be lost, but not those of the
//! rank that has chosen, which are there before the file has its name. So at least this rank gets
//! the error if the name of the run is used again, and all are started anew.
//!
//! # Removal
//!
//! The first rank of a run removes the choices of other runs to which nobody has added a line for a
//! day. It cannot tell which younger ones are over. It may itself be of a run that was killed: a
//! rank that was stopped may wake when some ranks of the next run have continued, and the others
//! still need their choice. A choice that stays does no harm, because each run has another name. So
//! the ranks of a run must look within a day.
//!
//! The age is the difference between the times of two files in the same folder. The clock of a rank
//! does not count, because that of the file server or of another node may be wrong.

use super::error::JobError;
use super::manifest;
use super::names;
use crate::error::{ReadError, WriteError};
use crate::file::{Dir, Fault, Mode, atomic, regular};
use crate::format::line;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tcasm_core::group::Member;

/// The largest size of the file in bytes.
const MOST_BYTES: u64 = 1 << 30;
/// How long the choice of another run stays after the last line was added to it.
const STAYS: Duration = Duration::from_secs(24 * 60 * 60);

/// The step that the ranks of a run continue from, or that they begin anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Choice {
    group: String,
    run: String,
    ranks: u32,
    /// The time at which the manifest was created, or 0 if there was none.
    manifest: u64,
    /// The step, or `None` if the ranks begin anew.
    pub step: Option<u64>,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line {
    Chosen(Choice),
    Continued { rank: u32 },
}

/// The file with the choice of one run.
pub(super) struct ChoiceFile<'m> {
    dir: &'m Path,
    mode: Mode,
    path: PathBuf,
    member: &'m Member,
}

impl<'m> ChoiceFile<'m> {
    /// Returns the file in `dir`, beside the manifest, for the run of `member`.
    pub fn new((dir, mode): (&'m Path, Mode), member: &'m Member) -> Self {
        let path = dir.join(names::choice(&member.group, &member.run));
        ChoiceFile {
            dir,
            mode,
            path,
            member,
        }
    }

    /// Returns the choice of the run, for this rank, which has not asked before. If there is none,
    /// makes the choice that `choose` returns.
    pub fn take(
        &self,
        choose: impl FnOnce() -> Result<Option<u64>, JobError>,
    ) -> Result<Choice, JobError> {
        if let Some(file) = self.open()? {
            return self.join(file);
        }
        let manifest = self.manifest()?;
        let step = choose()?;
        match self.create(manifest, step) {
            Ok(choice) => {
                self.remove_others();
                Ok(choice)
            }
            Err(WriteError::Exists(_)) => self.join(self.open()?.ok_or_else(|| self.gone())?),
            Err(error) => Err(self.not_shared(error.to_string())),
        }
    }

    /// Creates the file, with the line of this rank, unless there is one.
    fn create(&self, manifest: u64, step: Option<u64>) -> Result<Choice, WriteError> {
        let choice = Choice {
            group: self.member.group.clone(),
            run: self.member.run.clone(),
            ranks: self.member.ranks,
            manifest,
            step,
        };
        let lines = [Line::Chosen(choice.clone()), self.own_line()];
        let fill = |pending: &atomic::Pending| {
            for each in &lines {
                pending.file().write_all(&line::encode(each)?)?;
            }
            Ok(())
        };
        let (pending, ()) = atomic::begin(&self.path, self.mode, fill)?;
        pending.commit_new()?;
        Ok(choice)
    }

    /// Reads the choice that another rank has made, and adds the line of this one.
    fn join(&self, mut file: File) -> Result<Choice, JobError> {
        let bytes = regular::read_open(&file, MOST_BYTES).map_err(ReadError::io(&self.path))?;
        let choice = self.read(&bytes)?;
        let append = line::encode(&self.own_line()).and_then(|own| file.write_all(&own));
        append.map_err(|e| self.not_shared(Fault::from(e).at(&self.path).to_string()))?;
        Ok(choice)
    }

    /// Returns the choice, if it is one of this start of the job.
    fn read(&self, bytes: &[u8]) -> Result<Choice, JobError> {
        let mut lines = bytes.split_inclusive(|b| *b == b'\n').map(line::decode);
        let Some(Some(Line::Chosen(choice))) = lines.next() else {
            return Err(self.stale("its first line is damaged".to_owned()));
        };
        let Member {
            group, rank, ranks, ..
        } = self.member;
        if (&choice.group, &choice.run) != (group, &self.member.run) {
            let of = format!("it is of run {:?} of group {:?}", choice.run, choice.group);
            return Err(self.stale(of));
        }
        if choice.ranks != *ranks {
            let of = format!("it is of {} ranks, and there are {ranks}", choice.ranks);
            return Err(self.stale(of));
        }
        // The agents may have made the first manifest since another rank chose, or just before.
        if ![0, self.manifest()?].contains(&choice.manifest) {
            return Err(self.stale("it is of another manifest".to_owned()));
        }
        let own =
            |found: Option<Line>| matches!(found, Some(Line::Continued { rank: r }) if r == *rank);
        match lines.any(own) {
            true => Err(self.stale(format!("rank {rank} has already continued by it"))),
            false => Ok(choice),
        }
    }

    /// Returns the time at which the manifest was created, or 0 if there is none.
    fn manifest(&self) -> Result<u64, JobError> {
        Ok(manifest::read(self.dir, &self.member.group)?.created)
    }

    fn open(&self) -> Result<Option<File>, JobError> {
        let opened = Dir::of(&self.path).and_then(|(dir, name)| dir.open_file(name));
        opened.map_err(|e| self.not_shared(Fault::from(e).at(&self.path).to_string()))
    }

    /// Removes the choices of other runs of the group that are old.
    fn remove_others(&self) {
        let Ok(now) = modified(&self.path) else {
            return;
        };
        let is_old = |then| now.duration_since(then).is_ok_and(|age| age > STAYS);
        for path in self.others() {
            if !modified(&path).is_ok_and(is_old) {
                continue;
            }
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!("cannot remove {path:?}: {e}");
                }
                _ => {}
            }
        }
    }

    /// Returns the choices of other runs of the group, and their temporary files.
    fn others(&self) -> impl Iterator<Item = PathBuf> {
        // Other ranks of this run may be about to name a file of their own.
        let own = self.path.file_name().unwrap_or_default();
        let is_other = move |name: &str| own != name && names::is_choice(&self.member.group, name);
        let entries = std::fs::read_dir(self.dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(move |path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            is_other(&name) || atomic::is_temporary(&name, is_other)
        })
    }

    fn own_line(&self) -> Line {
        Line::Continued {
            rank: self.member.rank,
        }
    }

    fn stale(&self, what: String) -> JobError {
        JobError::OtherStart {
            path: self.path.clone(),
            what,
        }
    }

    fn not_shared(&self, why: String) -> JobError {
        JobError::NotShared {
            group: self.member.group.clone(),
            why,
        }
    }

    fn gone(&self) -> JobError {
        self.not_shared(format!("{:?} has vanished", self.path))
    }
}

/// Returns the time at which a file was last written to, as its file system knows it.
fn modified(path: &Path) -> io::Result<SystemTime> {
    std::fs::symlink_metadata(path)?.modified()
}
