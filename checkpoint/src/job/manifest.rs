//! The manifest of a job: lines with checksums, as in other manifests. The line of a checkpoint is
//! its commit: with it the checkpoint exists, and without it it does not.
//!
//! Only node 0 appends to it.

use super::error::JobError;
use super::names;
use super::record::{Event, Steps, apply};
use crate::error::{ReadError, WriteError};
use crate::file::{Dir, Fault, Mode, regular};
use crate::format::line;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The newest format that this program writes and reads.
pub const FORMAT: u32 = 1;
/// The largest size of a manifest in bytes.
const MOST_BYTES: u64 = 4 << 30;

/// A manifest that is open for appending.
#[derive(Debug)]
pub struct Manifest {
    path: PathBuf,
    file: File,
    /// The length of all complete lines.
    length: u64,
    contents: Contents,
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
            _ => self.undrained,
        };
    }
}

impl Manifest {
    /// Opens the manifest of `group` in `dir`, and creates it if it does not exist.
    pub fn open(dir: &Path, group: &str, mode: Mode) -> Result<Self, JobError> {
        let path = dir.join(names::manifest(group));
        let fault = |e: io::Error| Fault::from(e).at(&path);
        let name = names::manifest(group);
        let folder = Dir::open(dir).map_err(fault)?;
        let file = folder
            .open_or_create(OsStr::new(&name), mode)
            .map_err(fault)?;
        folder.sync().map_err(fault)?;
        let bytes = regular::read_open(&file, MOST_BYTES).map_err(fault)?;
        let (contents, length) = parse(&path, group, &bytes)?;
        let mut manifest = Manifest {
            path,
            file,
            length,
            contents,
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

    /// Appends a line. The line is on the disk when this returns. After an error it does not exist,
    /// or only in part, which readers ignore and the next append cuts off.
    pub fn append(&mut self, event: &Event) -> Result<(), WriteError> {
        let append = |file: &mut File, length| -> io::Result<u64> {
            let line = line::encode(event)?;
            file.set_len(length)?;
            file.write_all(&line)?;
            file.sync_data()?;
            Ok(line.len() as u64)
        };
        match append(&mut self.file, self.length) {
            Ok(bytes) => {
                self.length += bytes;
                self.contents.apply(event);
                Ok(())
            }
            Err(error) => {
                // The line must not come to exist later. If it cannot be cut off now, the next
                // append does so.
                let _ = self.file.set_len(self.length);
                Err(Fault::from(error).at(&self.path))
            }
        }
    }
}

#[cfg(test)]
impl Manifest {
    /// Makes each append fail from now on.
    pub fn make_read_only(&mut self) {
        self.file = File::open(&self.path).unwrap();
    }
}

/// Reads the checkpoints of `group` from the manifest in `dir`.
pub fn read(dir: &Path, group: &str) -> Result<Contents, JobError> {
    let path = dir.join(names::manifest(group));
    match regular::read(&path, MOST_BYTES) {
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
            Some(event) => contents.apply(&event),
            // The writer died while it wrote the last line.
            None if i + 1 == lines.len() => end -= text.len(),
            None => tracing::warn!("line {} of {path:?} is damaged and passed over", i + 1),
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
