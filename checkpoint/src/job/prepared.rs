//! The list of what a node has prepared, in its local folder. It says which manifest the files
//! belong to, and what they are, also while the slow tier cannot be reached.

use super::error::JobError;
use super::names;
use super::record::Part;
use crate::error::{ReadError, WriteError};
use crate::file::{Mode, atomic, regular};
use crate::format::line;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The largest size of the list in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// What a node has prepared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// The time at which the manifest was created that the files belong to, or 0 if there are none.
    pub manifest: u64,
    /// The parts that are complete on the disk, in ascending order of steps.
    pub parts: Vec<Part>,
}

/// Returns the list of a node in these folders that has files of a manifest, if there is one.
pub fn of_a_manifest(dirs: &[PathBuf], group: &str) -> Option<PathBuf> {
    let entries = dirs.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let node = names::node_of(group, &name);
        let node = node.filter(|node| name == names::prepared(group, *node));
        let list = node
            .zip(path.parent())
            .map(|(node, dir)| Prepared::read(dir, group, node));
        match list {
            Some(Ok(list)) => list.manifest != 0 && !list.parts.is_empty(),
            // It may have some.
            Some(Err(_)) => true,
            None => false,
        }
    })
}

/// A line of the list.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line {
    Begin { manifest: u64 },
    Prepared(Box<Part>),
}

impl Prepared {
    /// Reads the list of a node in `dir`. Lines that are damaged, or are not those of this node,
    /// are passed over.
    pub fn read(dir: &Path, group: &str, node: usize) -> Result<Prepared, JobError> {
        let path = dir.join(names::prepared(group, node));
        let bytes = match regular::read(&path, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(ReadError::io(&path))?,
        };
        let mut found = Prepared::default();
        for text in bytes.split_inclusive(|b| *b == b'\n') {
            match line::decode(text) {
                Some(Line::Begin { manifest }) => found.manifest = manifest,
                Some(Line::Prepared(part)) if part.node == node => match part.check(group) {
                    Ok(()) => found.parts.push(*part),
                    Err(why) => tracing::warn!("a line of {path:?} is passed over: {why}"),
                },
                _ => {}
            }
        }
        Ok(found)
    }

    /// Adds a part. It replaces those of the same and of later steps.
    pub fn add(&mut self, part: Part) {
        self.parts.retain(|other| other.step < part.step);
        self.parts.push(part);
    }

    /// Writes the list. It is on the disk when this returns.
    pub fn write(
        &self,
        dir: &Path,
        group: &str,
        node: usize,
        mode: Mode,
    ) -> Result<(), WriteError> {
        let begin = Line::Begin {
            manifest: self.manifest,
        };
        let mut text = Vec::new();
        let parts = self.parts.iter().cloned().map(Box::new).map(Line::Prepared);
        let lines = std::iter::once(begin).chain(parts);
        let path = dir.join(names::prepared(group, node));
        atomic::write(&path, mode, |pending| {
            for line in lines {
                text.extend(line::encode(&line)?);
            }
            pending.file().write_all(&text)?;
            Ok(())
        })?;
        Ok(())
    }
}
