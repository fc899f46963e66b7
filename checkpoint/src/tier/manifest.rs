//! The writing side of a manifest. [`super::contents`] describes the format. Lines are only ever
//! appended.

use super::contents::{Contents, Event, FORMAT, MOST_BYTES, encode, parse};
use crate::error::{Fault, WriteError};
use crate::files::{self, Dir};
use crate::{Mode, regular};
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
            None => files::directory(&self.path).is_dir() && !self.path.exists(),
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
mod tests {
    use super::super::contents::{Entry, Item, Kind};
    use super::*;
    use crate::error::ReadError;

    fn entry(step: u64) -> Entry {
        Entry {
            step,
            version: step + 1,
            time: 0.1 * step as f64,
            kind: Kind::Increment { base: 3 },
            file: format!("run_{step:08}.increment.h5"),
            bytes: 17,
            id: "abc".to_owned(),
            base_id: "abb".to_owned(),
            seal: "00ff".to_owned(),
        }
    }

    fn open(dir: &Path, name: &str, run: Option<&str>) -> Result<Manifest, WriteError> {
        Manifest::open(dir, name, run, Mode::PRIVATE)
    }

    fn written(dir: &Path, events: Vec<Event>) -> PathBuf {
        let mut manifest = open(dir, "run", None).unwrap();
        events.into_iter().for_each(|e| manifest.append(e).unwrap());
        manifest.path
    }

    #[test]
    fn appended_events_are_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(
            dir.path(),
            vec![
                Event::Complete(entry(5)),
                Event::Complete(Entry {
                    time: f64::INFINITY,
                    kind: Kind::Full,
                    ..entry(6)
                }),
                Event::Drained { step: 5 },
                Event::Complete(entry(7)),
                Event::Failed {
                    step: 8,
                    why: "no \"room\"\n".to_owned(),
                },
                Event::Removed {
                    step: 7,
                    why: String::new(),
                },
            ],
        );
        let contents = Contents::read(&path).unwrap();
        assert_eq!(
            (contents.region.as_str(), contents.newest()),
            ("run", Some(6))
        );
        assert_eq!(
            contents.items[&5],
            Item {
                entry: entry(5),
                drained: true
            }
        );
        assert!(contents.items[&6].entry.time.is_nan() && !contents.items[&6].drained);
        assert_eq!(contents.failed, Some((8, "no \"room\"\n".to_owned())));
        assert!(contents.damaged.is_empty());
    }

    #[test]
    fn incomplete_last_line_is_cut_off_before_the_next_append() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(dir.path(), vec![Event::Complete(entry(5))]);
        let whole = fs::read(&path).unwrap();
        let first = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
        for end in first..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let mut manifest = open(dir.path(), "run", None).unwrap();
            assert!(manifest.contents().items.is_empty(), "cut after {end}");
            manifest.append(Event::Complete(entry(9))).unwrap();
            let contents = Contents::read(&path).unwrap();
            assert_eq!((contents.newest(), contents.damaged.len()), (Some(9), 0));
        }
    }

    #[test]
    fn flipped_bit_loses_only_its_own_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(
            dir.path(),
            (1..=3).map(|n| Event::Complete(entry(n))).collect(),
        );
        let whole = fs::read(&path).unwrap();
        let starts: Vec<usize> = whole
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'\n')
            .map(|(i, _)| i + 1)
            .collect();
        for at in starts[1]..starts[2] - 1 {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            fs::write(&path, &bytes).unwrap();
            let contents = Contents::read(&path).unwrap();
            let steps: Vec<u64> = contents.items.keys().copied().collect();
            assert_eq!(steps, [1, 3], "byte {at}");
            assert!(contents.damaged.contains(&3));
        }
    }

    #[test]
    fn lines_that_name_files_elsewhere_or_of_other_runs_are_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let others = [
            "../run_00000005.increment.h5",
            "/tmp/run_00000005.increment.h5",
            "sub/run_00000005.increment.h5",
            "walk_00000005.increment.h5",
            "run_00000006.increment.h5",
            "notes.txt",
            "",
        ];
        let mut events: Vec<_> = others
            .map(|file| {
                let file = file.to_owned();
                Event::Complete(Entry { file, ..entry(5) })
            })
            .to_vec();
        events.push(Event::Complete(entry(7)));
        let contents = Contents::read(&written(dir.path(), events)).unwrap();
        assert_eq!(contents.items.keys().collect::<Vec<_>>(), [&7]);
        assert_eq!(contents.damaged.len(), others.len());
    }

    #[test]
    fn manifest_is_created_with_its_first_event() {
        let dir = tempfile::tempdir().unwrap();
        let mut manifest = open(dir.path(), "run", None).unwrap();
        assert!(manifest.is_there() && !manifest.path.exists());
        manifest.append(Event::Complete(entry(5))).unwrap();
        assert!(manifest.is_there() && manifest.path.exists());
        let again = open(dir.path(), "run", Some(&manifest.contents().run)).unwrap();
        assert_eq!(again.contents(), manifest.contents());
    }

    #[test]
    fn manifest_of_another_run_and_other_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(dir.path(), vec![Event::Complete(entry(5))]);
        let error = open(dir.path(), "run", Some("other")).unwrap_err();
        assert!(matches!(error, WriteError::OtherRun { .. }), "{error}");
        fs::rename(&path, dir.path().join(file_name("walk"))).unwrap();
        let error = open(dir.path(), "walk", None).unwrap_err();
        assert!(matches!(error, WriteError::OtherRun { .. }), "{error}");
        for other in [
            "name: run\nsteps: 7\n",
            "name: run",
            "{\"event\":\"wedding\"}\n",
        ] {
            fs::write(&path, other).unwrap();
            let error = open(dir.path(), "run", None).unwrap_err();
            assert!(
                matches!(error, WriteError::Manifest(ReadError::NotManifest(_))),
                "{error}"
            );
            assert_eq!(
                fs::read(&path).unwrap(),
                other.as_bytes(),
                "the file is unchanged"
            );
        }
    }

    #[test]
    fn manifest_keeps_its_first_run_and_region() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(dir.path(), vec![Event::Complete(entry(5))]);
        let before = Contents::read(&path).unwrap();
        let begin = Event::Begin {
            format: FORMAT,
            run: "other".to_owned(),
            region: "walk".to_owned(),
            created: 0,
        };
        let file = "walk_00000006.vtkhdf".to_owned();
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(encode(&begin).unwrap());
        bytes.extend(encode(&Event::Complete(Entry { file, ..entry(6) })).unwrap());
        bytes.extend(encode(&Event::Complete(entry(7))).unwrap());
        fs::write(&path, bytes).unwrap();
        let after = Contents::read(&path).unwrap();
        assert_eq!((&after.run, &after.region), (&before.run, &before.region));
        assert_eq!(after.items.keys().collect::<Vec<_>>(), [&5, &7]);
        assert_eq!(after.damaged, [3, 4], "both lines are reported");
        assert!(open(dir.path(), "run", Some(&before.run)).is_ok());
    }

    #[test]
    fn unknown_events_are_ignored_and_newer_formats_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = written(dir.path(), vec![Event::Complete(entry(5))]);
        let add = |text: &str| {
            let line = format!("{text}#{:016x}\n", xxh3_64(text.as_bytes()));
            let mut bytes = fs::read(&path).unwrap();
            bytes.extend(line.as_bytes());
            fs::write(&path, bytes).unwrap();
        };
        add("{\"event\":\"weighed\",\"grams\":12}");
        assert_eq!(Contents::read(&path).unwrap().newest(), Some(5));
        add("{\"event\":\"begin\",\"format\":2,\"run\":\"a\",\"region\":\"run\",\"created\":0}");
        assert!(matches!(
            Contents::read(&path),
            Err(ReadError::TooNew { found: 2, .. })
        ));
    }
}
