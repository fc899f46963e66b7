//! The list of a run's VTKHDF files, `<name>.vtkhdf.series`. ParaView opens it as one time series.

use crate::error::{ReadError, WriteError};
use crate::find::{self, Form};
use crate::tier::Tier;
use crate::tier::contents::{self, Contents};
use crate::{Layout, atomic, regular};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The largest size of a list in bytes. A checkpoint takes about 100 bytes.
const MOST_BYTES: u64 = 1 << 30;

/// One checkpoint in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The file, relative to the list.
    pub name: String,
    /// The simulated time.
    pub time: f64,
}

/// The list as it is stored in JSON.
#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(rename = "file-series-version")]
    version: String,
    files: Vec<Entry>,
}

/// Returns the file name of the list.
pub fn file_name(name: &str) -> String {
    format!("{name}.vtkhdf.series")
}

/// Returns the VTKHDF files in ascending order of steps.
pub fn entries(contents: &Contents) -> Vec<Entry> {
    let all = contents.items.values().map(|item| &item.entry);
    let images = all.filter(|entry| {
        find::parse(&entry.file).is_some_and(|(.., form)| form == Form::Full(Layout::VtkHdf))
    });
    images.map(listed).collect()
}

/// Returns the line of the list for a checkpoint.
fn listed(entry: &contents::Entry) -> Entry {
    // JSON can only store finite numbers, and readers do not open a list without times.
    let time = match entry.time.is_finite() {
        true => entry.time,
        false => entry.step as f64,
    };
    Entry {
        name: entry.file.clone(),
        time,
    }
}

/// A list with more checkpoints than this is not written with each checkpoint.
const SHORT: u64 = 256;
/// The longest time that the list may lack a checkpoint, counted when the next one is written.
const LATEST: Duration = Duration::from_secs(10);

/// The last time that a list was written.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// The number of changes of the manifest that the list contains.
    changes: u64,
    /// The time when it was written.
    at: Instant,
}

/// Writes the list of a tier if it is due. The cost of a list grows with its length. So that the
/// cost of a checkpoint does not grow with the number of older ones, a long list is written only
/// when it lacks one checkpoint in [`SHORT`]. It is also written after a while, and when the tier
/// is closed.
pub fn update(tier: &mut Tier) -> Result<(), WriteError> {
    let (changes, entries) = (tier.changes(), tier.contents().items.len() as u64);
    let is_due = tier.listed.is_none_or(|listed| {
        let new = changes - listed.changes;
        new != 0 && (new * SHORT >= entries || listed.at.elapsed() >= LATEST)
    });
    match is_due {
        true => complete(tier),
        false => Ok(()),
    }
}

/// Writes the list of a tier if it is not up to date.
pub fn complete(tier: &mut Tier) -> Result<(), WriteError> {
    let changes = tier.changes();
    if tier.listed.is_some_and(|listed| listed.changes == changes) {
        return Ok(());
    }
    write(tier)?;
    let at = Instant::now();
    tier.listed = Some(Listed { changes, at });
    Ok(())
}

/// Writes the list of a tier to the disk.
fn write(tier: &Tier) -> Result<(), WriteError> {
    let path = tier.dir().join(file_name(tier.name()));
    let files = entries(tier.contents());
    if files.is_empty() && !path.exists() {
        return Ok(());
    }
    let content = Content {
        version: "1.0".to_owned(),
        files,
    };
    let text = serde_json::to_vec_pretty(&content).map_err(std::io::Error::from);
    atomic::write(&path, tier.mode(), |pending| {
        let mut file = pending.file();
        Ok(file.write_all(&text?)?)
    })
    .map(|_| ())
}

/// Returns the files that the list at `path` names, in the order of the list.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let text = regular::read(path, MOST_BYTES).map_err(ReadError::io(path))?;
    let content: Content = serde_json::from_slice(&text).map_err(|source| ReadError::Series {
        path: path.to_owned(),
        source,
    })?;
    let dir = atomic::directory(path);
    Ok(content.files.iter().map(|e| dir.join(&e.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::contents::{Event, encode};
    use crate::tier::test::{write, written};
    use crate::{Checkpointer, Options};
    use std::fs::{self, File};
    use std::io::Write;

    const NEW: u64 = 24;

    /// Returns the number of bytes that this thread has written so far.
    fn bytes_written() -> u64 {
        let io = fs::read_to_string("/proc/thread-self/io").unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
        line.unwrap().parse().unwrap()
    }

    /// Returns a folder with `count` checkpoints, which are hard links to one file.
    fn folder(count: u64) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let tier = written(dir.path(), 1);
        let first = tier.contents().items[&1].entry.clone();
        drop(tier);
        let manifest = dir.path().join("run.manifest");
        let mut manifest = File::options().append(true).open(manifest).unwrap();
        for step in 2..=count {
            let file = find::file_name("run", step, Form::Full(Layout::VtkHdf));
            fs::hard_link(dir.path().join(&first.file), dir.path().join(&file)).unwrap();
            let entry = contents::Entry {
                step,
                file,
                ..first.clone()
            };
            manifest
                .write_all(&encode(&Event::Complete(entry)).unwrap())
                .unwrap();
        }
        dir
    }

    /// Writes more checkpoints. Returns the bytes that this took, and the size of the list at the
    /// end.
    fn cost(dir: &Path, count: u64) -> (u64, u64) {
        let mut to = Checkpointer::new(dir, "run", Options::default()).unwrap();
        assert_eq!(to.contents().items.len() as u64, count);
        let before = bytes_written();
        (1..=NEW).for_each(|n| write(&mut to, count + n));
        let bytes = bytes_written() - before;
        drop(to);
        let list = dir.join(file_name("run"));
        assert_eq!(files(&list).unwrap().len() as u64, count + NEW);
        (bytes, fs::metadata(list).unwrap().len())
    }

    #[test]
    fn cost_of_a_checkpoint_does_not_grow_with_the_number_of_older_ones() {
        let (few, many) = (folder(1), folder(4000));
        let ((alone, _), (among, list)) = (cost(few.path(), 1), cost(many.path(), 4000));
        // Two lists are due, and a slow machine may take long enough for some more.
        assert!(
            among < alone + NEW * list / 3,
            "{among} bytes, not {alone}; a list has {list}"
        );
    }
}
