//! The writing side of a manifest. [`super::contents`] describes the format. Lines are only ever
//! appended.

use super::contents::{Contents, Event, FORMAT, MOST_BYTES, parse};
use crate::error::WriteError;
use crate::file::{Dir, Fault, Mode, directory, regular};
use crate::format::line::encode;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// The end of the file name of every manifest.
pub const NAME: &str = ".manifest";

/// Returns the file name of the manifest of `name`.
pub fn file_name(name: &str) -> String {
    format!("{name}{NAME}")
}

/// A manifest that is open for appending. Only one process may append to it at a time.
#[derive(Debug)]
pub struct Manifest {
    path: PathBuf,
    mode: Mode,
    /// `None` until the first line is written.
    file: Option<File>,
    /// The length of all complete lines, in bytes.
    length: u64,
    /// True if part of another line may follow the complete ones.
    torn: bool,
    contents: Contents,
    /// The number of changes to the set of checkpoints since the manifest was opened.
    changes: u64,
}

impl Manifest {
    /// Opens the manifest of `name` in `dir`. An existing manifest must belong to `run`, if `run`
    /// is given. If there is no manifest yet, the new one belongs to `run`, or to a new run. The
    /// file is created with the first line.
    pub fn open(dir: &Path, name: &str, run: Option<&str>, mode: Mode) -> Result<Self, WriteError> {
        let path = dir.join(file_name(name));
        let (file, bytes) = read(&path).map_err(|e| Fault::from(e).at(&path))?;
        let (mut contents, length) = parse(&path, &bytes).map_err(WriteError::Manifest)?;
        if length == 0 {
            contents.run = run.map_or_else(new_run, str::to_owned);
            contents.region = name.to_owned();
        }
        let manifest = Manifest {
            path,
            mode,
            file: file.filter(|_| length != 0),
            length,
            torn: bytes.len() as u64 != length,
            contents,
            changes: 0,
        };
        manifest.check(name, run)?;
        Ok(manifest)
    }

    /// Returns an error if the manifest is of another region or run.
    fn check(&self, name: &str, run: Option<&str>) -> Result<(), WriteError> {
        let Contents {
            run: found, region, ..
        } = &self.contents;
        if region == name && run.is_none_or(|run| run == found) {
            return Ok(());
        }
        Err(WriteError::OtherRun {
            path: self.path.clone(),
            found: format!("{region} ({found})"),
            expected: format!("{name} ({})", run.unwrap_or("any run")),
        })
    }

    /// Creates the file and writes its first line.
    fn begin(&mut self) -> Result<(), WriteError> {
        let (path, mode) = (self.path.clone(), self.mode);
        let fault = |e: io::Error| Fault::from(e).at(&path);
        let (dir, name) = Dir::of(&path).map_err(fault)?;
        let file = dir.open_or_create(name, mode).map_err(fault)?;
        dir.sync().map_err(fault)?;
        (self.file, self.torn) = (Some(file), true);
        self.put(&Event::Begin {
            format: FORMAT,
            run: self.contents.run.clone(),
            region: self.contents.region.clone(),
            created: unix_ns(),
        })
    }

    /// Returns the contents of the manifest.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Returns true if the folder still holds the file that was opened. Before the first line,
    /// returns true if the folder exists and holds no manifest.
    pub fn is_there(&self) -> bool {
        let same = |file: &File| -> io::Result<bool> {
            let (open, there) = (file.metadata()?, fs::symlink_metadata(&self.path)?);
            Ok((open.dev(), open.ino()) == (there.dev(), there.ino()))
        };
        match &self.file {
            Some(file) => same(file).unwrap_or(false),
            None => directory(&self.path).is_dir() && !self.path.exists(),
        }
    }

    /// Appends a line. The line is on the disk when this returns.
    pub fn append(&mut self, event: Event) -> Result<(), WriteError> {
        if self.file.is_none() {
            self.begin()?;
        }
        self.put(&event)?;
        self.apply(&event);
        Ok(())
    }

    /// Appends a line whose content can be found out again from the files. If there is no room for
    /// the line, the event is applied in memory only. Retention depends on this: where the disk is
    /// full, the event must be known so that files can be removed.
    pub fn append_or_note(&mut self, event: Event) -> Result<(), WriteError> {
        match self.append(event.clone()) {
            Err(error @ WriteError::NoSpace { .. }) => {
                tracing::warn!("{error}");
                self.apply(&event);
                Ok(())
            }
            appended => appended,
        }
    }

    /// Applies an event in memory.
    fn apply(&mut self, event: &Event) {
        self.contents.apply(event);
        self.changes += u64::from(matches!(event, Event::Complete(_) | Event::Removed { .. }));
    }

    /// Returns how often the set of checkpoints has changed since the manifest was opened.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Writes a line, if there is a file.
    fn put(&mut self, event: &Event) -> Result<(), WriteError> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut append = || -> io::Result<u64> {
            // The next line would be unreadable if it followed an incomplete one.
            if self.torn {
                file.set_len(self.length)?;
            }
            let line = encode(event)?;
            self.torn = true;
            file.write_all(&line)?;
            file.sync_data()?;
            Ok(line.len() as u64)
        };
        match append() {
            Ok(bytes) => {
                self.length += bytes;
                self.torn = false;
                Ok(())
            }
            Err(error) => {
                // Readers ignore an incomplete last line. If it cannot be cut off now, the next
                // append cuts it off.
                self.torn = file.set_len(self.length).is_err();
                // A file without its first line is not a manifest, so the next append begins it
                // anew.
                if self.length == 0 {
                    self.file = None;
                }
                Err(Fault::from(error).at(&self.path))
            }
        }
    }
}

/// Opens the file at `path` for appending and reads it. Returns no file and no bytes if it does not
/// exist.
fn read(path: &Path) -> io::Result<(Option<File>, Vec<u8>)> {
    let (dir, name) = Dir::of(path)?;
    let file = dir.open_file(name)?;
    let bytes = match &file {
        Some(file) => regular::read_open(file, MOST_BYTES)?,
        None => Vec::new(),
    };
    Ok((file, bytes))
}

/// Returns an identity for a new run, which no other run is likely to have.
fn new_run() -> String {
    let mut seed = unix_ns().to_le_bytes().to_vec();
    seed.extend(std::process::id().to_le_bytes());
    format!("{:016x}", xxh3_64(&seed))
}

/// Returns the current time in nanoseconds since the Unix epoch.
pub fn unix_ns() -> u64 {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
    now.map_or(0, |d| d.as_nanos() as u64)
}

#[cfg(test)]
mod tests;
