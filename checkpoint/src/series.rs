//! The list of a run's VTKHDF files, which ParaView opens as one time series: `<name>.vtkhdf.series`.

use crate::error::{ReadError, WriteError};
use crate::find::{self, Form};
use crate::tier::Tier;
use crate::tier::contents::{self, Contents};
use crate::{Layout, atomic, regular};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most bytes of a list: a checkpoint takes about 100.
const MOST_BYTES: u64 = 1 << 30;

/// One checkpoint in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its file, relative to the list.
    pub name: String,
    /// Its simulated time.
    pub time: f64,
}

#[derive(Serialize, Deserialize)]
struct Content {
    #[serde(rename = "file-series-version")]
    version: String,
    files: Vec<Entry>,
}

/// The file name of the list.
pub fn file_name(name: &str) -> String {
    format!("{name}.vtkhdf.series")
}

/// The VTKHDF files, by ascending step.
pub fn entries(contents: &Contents) -> Vec<Entry> {
    let all = contents.items.values().map(|item| &item.entry);
    let images = all.filter(|entry| {
        find::parse(&entry.file).is_some_and(|(.., form)| form == Form::Full(Layout::VtkHdf))
    });
    images.map(listed).collect()
}

fn listed(entry: &contents::Entry) -> Entry {
    // JSON has no other numbers, and a list without them does not open.
    let time = match entry.time.is_finite() {
        true => entry.time,
        false => entry.step as f64,
    };
    Entry {
        name: entry.file.clone(),
        time,
    }
}

/// A list that is longer than this is not written anew with each checkpoint.
const SHORT: u64 = 256;
/// A checkpoint is listed at the latest with the next one after so much time.
const LATEST: Duration = Duration::from_secs(10);

/// When a list was last written.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// Changes of the manifest that it has.
    changes: u64,
    at: Instant,
}

/// Brings the list of a tier to the disk, if it is time. What it costs to write a list grows with
/// its length: so that checkpoints do not cost more with each that there is, a long one is written
/// when it lacks one in [`SHORT`], and in any case after a while, and when the tier is closed.
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

/// Brings the list of a tier to the disk, if it is not as it is to be.
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

/// Bring the list of a tier to the disk.
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

/// The files that the list at `path` names, in its order.
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

    /// The bytes that this thread has written so far.
    fn bytes_written() -> u64 {
        let io = fs::read_to_string("/proc/thread-self/io").unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
        line.unwrap().parse().unwrap()
    }

    /// A folder with `count` checkpoints: all are one file under many names.
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

    /// The bytes that it takes to write some more, and the size of the list in the end.
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
    fn checkpoint_among_thousands_costs_about_what_one_in_an_empty_folder_does() {
        let (few, many) = (folder(1), folder(4000));
        let ((alone, _), (among, list)) = (cost(few.path(), 1), cost(many.path(), 4000));
        // Two lists are due; and a slow machine may take long enough for some more.
        assert!(
            among < alone + NEW * list / 3,
            "{among} bytes, not {alone}; a list has {list}"
        );
    }
}
