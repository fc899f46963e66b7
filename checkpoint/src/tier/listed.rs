//! When the list of a tier's VTKHDF files is written. [`crate::series::list`] describes the list.

use super::contents::{Contents, Entry};
use crate::error::WriteError;
use crate::file::Mode;
use crate::format::names::{self, Form};
use crate::options::Layout;
use crate::series::list::{self, Line};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A list with more checkpoints than this is not written with each checkpoint.
const SHORT: u64 = 256;
/// The longest time that the list may lack a checkpoint, counted when the next one is written.
const LATEST: Duration = Duration::from_secs(10);

/// The list of a tier.
#[derive(Debug)]
pub struct Listed {
    path: PathBuf,
    mode: Mode,
    /// The last time that the list was written.
    last: Option<Last>,
}

/// The last time that a list was written.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// The number of changes of the manifest that the list contains.
    changes: u64,
    /// The time when it was written.
    at: Instant,
}

impl Listed {
    /// Returns the list of the checkpoints called `name` in `dir`, which is not written yet.
    pub fn new(dir: &Path, name: &str, mode: Mode) -> Self {
        Listed {
            path: dir.join(list::file_name(name)),
            mode,
            last: None,
        }
    }

    /// Returns true if the list was written since the tier was opened.
    pub fn was_written(&self) -> bool {
        self.last.is_some()
    }

    /// Writes the list if it is due. `contents` are those of the manifest after `changes` changes.
    ///
    /// The cost of a list grows with its length. So that the cost of a checkpoint does not grow
    /// with the number of older ones, a long list is written only when it lacks one checkpoint in
    /// [`SHORT`]. It is also written after a while, and when the tier is closed.
    pub fn update(&mut self, contents: &Contents, changes: u64) -> Result<(), WriteError> {
        let entries = contents.items.len() as u64;
        let is_due = self.last.is_none_or(|last| {
            let new = changes - last.changes;
            new != 0 && (new * SHORT >= entries || last.at.elapsed() >= LATEST)
        });
        match is_due {
            true => self.complete(contents, changes),
            false => Ok(()),
        }
    }

    /// Writes the list if it is not up to date.
    pub fn complete(&mut self, contents: &Contents, changes: u64) -> Result<(), WriteError> {
        if self.last.is_some_and(|last| last.changes == changes) {
            return Ok(());
        }
        list::write(&self.path, lines(contents), self.mode)?;
        let at = Instant::now();
        self.last = Some(Last { changes, at });
        Ok(())
    }
}

/// Returns the lines for the VTKHDF files, in ascending order of steps.
fn lines(contents: &Contents) -> Vec<Line> {
    let all = contents.items.values().map(|item| &item.entry);
    let images = all.filter(|entry| {
        names::parse(&entry.file).is_some_and(|(.., form)| form == Form::Full(Layout::VtkHdf))
    });
    images.map(line).collect()
}

/// Returns the line of the list for a checkpoint.
fn line(entry: &Entry) -> Line {
    // JSON can only store finite numbers, and readers do not open a list without times.
    let time = match entry.time.is_finite() {
        true => entry.time,
        false => entry.step as f64,
    };
    Line {
        name: entry.file.clone(),
        time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::line::encode;
    use crate::tier::contents::Event;
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
            let file = names::file_name("run", step, Form::Full(Layout::VtkHdf));
            fs::hard_link(dir.path().join(&first.file), dir.path().join(&file)).unwrap();
            let entry = Entry {
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
        let list = dir.join(list::file_name("run"));
        assert_eq!(list::files(&list).unwrap().len() as u64, count + NEW);
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
