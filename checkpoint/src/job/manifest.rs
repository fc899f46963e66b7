//! The manifest of a job: lines with checksums, as in other manifests. The line of a checkpoint is
//! its commit: with it the checkpoint exists, and without it it does not.
//!
//! Only node 0 appends to it, while it has it locked. When most lines say nothing any more, node 0
//! replaces the file by one with the other lines. Programs that have the old file open read it to
//! its end.

use super::error::JobError;
use super::names;
use super::record::{Event, Steps, apply};
use crate::error::{ReadError, WriteError};
use crate::file::atomic::{self, Pending};
use crate::file::{Dir, Fault, Lock, Mode, regular};
use crate::format::line;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use tcasm_core::testing::fault;

mod live;

/// The newest format that this program writes and reads.
pub const FORMAT: u32 = 1;
/// The largest size of a manifest in bytes.
const MOST_BYTES: u64 = 4 << 30;
/// The smallest size at which a manifest is replaced, in bytes.
const LONG: u64 = 1 << 20;
/// How many times as long as the lines that count a manifest must be to be replaced.
const SEVERAL: u64 = 4;
/// How often a manifest is read again that another host has replaced meanwhile (NFS).
const STALE: usize = 5;

/// A manifest that is locked, and open for appending.
#[derive(Debug)]
pub struct Manifest {
    path: PathBuf,
    group: String,
    mode: Mode,
    /// Its folder, also if that has another path meanwhile.
    folder: Dir,
    file: File,
    /// The length of all complete lines.
    length: u64,
    /// True if a part of a line may follow these.
    is_torn: bool,
    /// The length at which it is replaced, if few of its lines count.
    long: u64,
    /// False if a crash could give the name to the file that was replaced.
    is_named: bool,
    contents: Contents,
    lock: Lock,
}

/// The contents of a manifest.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The time of its creation, which tells it from other manifests.
    pub created: u64,
    /// The checkpoints.
    pub steps: Steps,
    /// The number of commits since the last checkpoint was drained, kept or not.
    pub undrained: usize,
}

impl Contents {
    /// Changes the contents as `event` says.
    fn apply(&mut self, event: &Event) {
        apply(&mut self.steps, event);
        self.undrained = match event {
            Event::Commit(_) => self.undrained + 1,
            Event::Drained { .. } => 0,
            Event::Undrained { commits } => *commits,
            _ => self.undrained,
        };
    }
}

impl Manifest {
    /// Locks and opens the manifest of `group` in `dir`, and creates it if it does not exist. Fails
    /// if another process has locked it.
    pub fn open(dir: &Path, group: &str, mode: Mode) -> Result<Self, JobError> {
        let name = names::manifest(group);
        // Another job of this name may have other local folders, but not this manifest.
        let lock = Lock::take(dir, &name, mode)?;
        let path = dir.join(&name);
        let fault = |e: io::Error| Fault::from(e).at(&path);
        let folder = Dir::open(dir).map_err(fault)?;
        let file = folder
            .open_or_create(OsStr::new(&name), mode)
            .map_err(fault)?;
        folder.sync().map_err(fault)?;
        let bytes = regular::read_open(&file, MOST_BYTES).map_err(fault)?;
        let (contents, length) = parse(&path, group, &bytes)?;
        let mut manifest = Manifest {
            path,
            group: group.to_owned(),
            mode,
            folder,
            file,
            length,
            is_torn: length != bytes.len() as u64,
            long: LONG,
            is_named: true,
            contents,
            lock,
        };
        if length == 0 {
            let created = crate::tier::manifest::unix_ns();
            manifest.append(&Event::Begin {
                format: FORMAT,
                group: group.to_owned(),
                created,
            })?;
            manifest.contents.created = created;
        }
        Ok(manifest)
    }

    /// Returns the contents.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Returns true if no other process can write the manifest. Returns false if the file system
    /// has no locks.
    pub fn is_locked(&self) -> bool {
        self.lock.is_held()
    }

    /// Appends a line. The line is on the disk when this returns. After an error it does not exist,
    /// or only in part, which readers ignore and the next append cuts off. If another process has
    /// written to the manifest, this is an error that changes nothing.
    pub fn append(&mut self, event: &Event) -> Result<(), WriteError> {
        self.check().map_err(|e| Fault::from(e).at(&self.path))?;
        match self.put(event) {
            Ok(bytes) => {
                self.length += bytes;
                self.is_torn = false;
                self.contents.apply(event);
                Ok(())
            }
            Err(error) => {
                // The line must not come to exist later. If it cannot be cut off now, the next
                // append does so.
                self.is_torn = self.file.set_len(self.length).is_err();
                Err(Fault::from(error).at(&self.path))
            }
        }
    }

    fn put(&mut self, event: &Event) -> io::Result<u64> {
        let line = line::encode(event)?;
        self.file.set_len(self.length)?;
        self.file.write_all(&line)?;
        self.file.sync_data()?;
        Ok(line.len() as u64)
    }

    /// Returns an error if nobody who opens the manifest would find what is appended, or if another
    /// process has written to it. That can be where the file system has no locks, or where a host
    /// that was cut off has lost its own (NFS).
    fn check(&mut self) -> io::Result<()> {
        let what = match self.folder.is_name_of(self.name(), &self.file)? {
            false => Some("removed or replaced"),
            true if !self.has_own_length()? => Some("written by another process"),
            true => None,
        };
        if let Some(what) = what {
            return Err(io::Error::other(format!(
                "the manifest was {what} while it was open; let only one job write it, and start \
                 that job again"
            )));
        }
        if !self.is_named {
            self.folder.sync()?;
            self.is_named = true;
        }
        Ok(())
    }

    /// Returns true if the manifest is as long as this process has left it.
    fn has_own_length(&self) -> io::Result<bool> {
        // Over NFS, the length may be an old one unless the file is opened.
        let again = self.folder.open_file(self.name())?;
        let found = again.map(|file| file.metadata()).transpose()?;
        let length = found.map_or(0, |found| found.len());
        Ok(length == self.length || (self.is_torn && length > self.length))
    }

    fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// Replaces the manifest by one with the same contents if it is long and few of its lines
    /// count. Without a lock this does nothing, because another process could append to the old
    /// one. After an error the manifest is whole, and can be appended to.
    pub fn shorten(&mut self) -> Result<(), WriteError> {
        if self.length < self.long || !self.is_locked() {
            return Ok(());
        }
        let lines = self.live().map_err(|e| Fault::from(e).at(&self.path))?;
        let length = lines.as_ref().map_or(self.length, |l| l.len() as u64);
        self.long = length.saturating_mul(SEVERAL).max(LONG);
        match lines.filter(|_| self.length >= self.long) {
            Some(lines) => self.replace(&lines),
            None => Ok(()),
        }
    }

    /// Returns a manifest with the same contents, if there is one.
    fn live(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.file.rewind()?;
        let mut bytes = regular::read_open(&self.file, MOST_BYTES)?;
        bytes.truncate(usize::try_from(self.length).unwrap_or(usize::MAX));
        self.contents.lines(&bytes, &self.group)
    }

    /// Gives the name of the manifest to a new file with these lines.
    fn replace(&mut self, lines: &[u8]) -> Result<(), WriteError> {
        let folder = self.check().and_then(|()| self.folder.try_clone());
        let folder = folder.map_err(|e| Fault::from(e).at(&self.path))?;
        let fill = |pending: &Pending| -> Result<File, Fault> {
            pending.file().write_all(lines)?;
            // Lines are appended to the same open file, so that no other file can be meant.
            let file = pending.file().try_clone()?;
            fcntl(&file, FcntlArg::F_SETFL(OFlag::O_APPEND)).map_err(io::Error::from)?;
            Ok(file)
        };
        let (pending, file) = atomic::begin_in(folder, &self.path, self.mode, fill)?;
        fault::pass("job-rewritten");
        let committed = pending.commit();
        // The name may be given although an error is reported.
        let is_new = self.folder.is_name_of(self.name(), &file);
        if is_new.unwrap_or(committed.is_ok()) {
            (self.file, self.length) = (file, lines.len() as u64);
            self.is_torn = false;
            self.is_named = committed.is_ok();
        }
        fault::pass("job-replaced");
        committed.map(drop)
    }
}

/// Reads the checkpoints of `group` from the manifest in `dir`.
pub fn read(dir: &Path, group: &str) -> Result<Contents, JobError> {
    let path = dir.join(names::manifest(group));
    let is_stale = |e: &io::Error| e.kind() == io::ErrorKind::StaleNetworkFileHandle;
    let mut tries = (0..STALE).map(|_| regular::read(&path, MOST_BYTES));
    let read = tries.find(|read| !read.as_ref().is_err_and(is_stale));
    match read.unwrap_or_else(|| regular::read(&path, MOST_BYTES)) {
        Ok(bytes) => Ok(parse(&path, group, &bytes)?.0),
        Err(error) if error.kind() == io::ErrorKind::NotFound && dir.is_dir() => {
            Ok(Contents::default())
        }
        Err(error) => Err(ReadError::io(&path)(error).into()),
    }
}

/// Returns the names of the groups whose manifests are in `dir`.
pub fn groups(dir: &Path) -> Result<Vec<String>, JobError> {
    let mut groups = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(ReadError::io(dir))? {
        let name = entry.map_err(ReadError::io(dir))?.file_name();
        let group = name.to_str().and_then(|name| name.strip_suffix(".job"));
        groups.extend(group.filter(|group| !group.is_empty()).map(str::to_owned));
    }
    groups.sort_unstable();
    Ok(groups)
}

/// Returns the checkpoints, and how many bytes the complete lines take.
fn parse(path: &Path, group: &str, bytes: &[u8]) -> Result<(Contents, u64), JobError> {
    let mut contents = Contents::default();
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
    let (mut end, mut begun) = (whole, false);
    let lines: Vec<&[u8]> = bytes[..whole].split_inclusive(|b| *b == b'\n').collect();
    for (i, text) in lines.iter().enumerate() {
        match line::decode(text) {
            Some(Event::Begin { format, .. }) if format > FORMAT => {
                return Err(ReadError::TooNew {
                    path: path.to_owned(),
                    found: format.into(),
                    known: FORMAT.into(),
                }
                .into());
            }
            Some(Event::Begin {
                group: found,
                created,
                ..
            }) => {
                begun |= found == group;
                contents.created = created;
            }
            Some(event) => match event.check(group) {
                Ok(()) => contents.apply(&event),
                Err(why) => tracing::warn!("line {} of {path:?} is passed over: {why}", i + 1),
            },
            // The writer died while it wrote the last line.
            None if i + 1 == lines.len() && line::text(text).is_none() => end -= text.len(),
            None => tracing::warn!(
                "line {} of {path:?} is damaged, or of a newer program, and passed over",
                i + 1
            ),
        }
    }
    let is_new = end == 0 && (bytes.is_empty() || bytes.starts_with(b"{\"event\":\"begin\""));
    match begun || is_new {
        true => Ok((contents, end as u64)),
        false => Err(JobError::NotManifest {
            path: path.to_owned(),
            group: group.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
