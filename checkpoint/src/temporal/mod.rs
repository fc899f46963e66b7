//! Time series that grow with a running simulation: one temporal VTKHDF file, which VTK, ParaView, PyVista and h5py read at
//! any moment.
//!
//! ```text
//! run.vtkhdf                  what others open: small, its arrays are virtual
//! run.steps/00000001.h5 ...   the rows that they are made of
//! ```
//!
//! HDF5 promises nothing of a file whose writer is killed, and readers lock files out that are being written. So nothing is ever
//! changed in place: a version is a new file of rows, then a new `run.vtkhdf` that takes the place of the old one. A reader
//! neither waits nor makes anybody wait, and whoever is killed at whatever moment, `run.vtkhdf` is complete. What a killed writer
//! leaves besides is removed at the next start.
//!
//! A field that has not changed is not stored again: several rows refer to one.

mod contents;
mod index;
mod mapping;
mod part;
mod rows;

pub(crate) use rows::Own;

use crate::error::WriteError;
use crate::lock::Lock;
use crate::{Compression, Mode, Options, Snapshot, atomic};
use contents::{Contents, Row};
use part::Part;
use rows::Rows;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::stamp::Stamp;
use xxhash_rust::xxh3::xxh3_128;

/// How a time series is written.
#[derive(Clone, Debug)]
pub struct SeriesOptions {
    /// How the fields' bytes are stored.
    pub compression: Compression,
    /// Keep the newest so many versions.
    pub keep: usize,
    /// Files that nothing refers to any more stay so long, and until the next version at least, for who has opened the file of the
    /// series before. What is left of them goes with the writer.
    pub grace: Duration,
    /// So many versions are put together in a file of references, which the file of the series refers to: however long it is, it says
    /// of few versions by themselves where they are.
    pub chapter: usize,
    /// Whether a simulation that goes back in steps may replace what is of later steps. Else it is refused.
    pub replace_later: bool,
    /// Who may read and write the files.
    pub mode: Mode,
}

impl Default for SeriesOptions {
    fn default() -> Self {
        SeriesOptions {
            compression: Options::default().compression,
            keep: usize::MAX,
            grace: Duration::from_secs(10),
            chapter: 256,
            replace_later: false,
            mode: Mode::default(),
        }
    }
}

/// Writes a time series.
#[derive(Debug)]
pub struct TimeSeries {
    path: PathBuf,
    region: String,
    options: SeriesOptions,
    /// The part that grows; none before the first version.
    part: Option<Part>,
    /// Files that nothing refers to any more, the folder that they are in, and since when.
    leaving: Vec<(Instant, PathBuf, BTreeSet<u64>)>,
    _lock: Lock,
}

/// A version that has all its bytes, and is not yet in the series: what it was written from is no longer needed.
#[derive(Debug)]
pub struct FilledRow {
    rows: Option<Rows>,
    part: Part,
}

/// A version that is in the series, on the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Appended {
    /// The file that has it: another than before when the fields have changed.
    pub path: PathBuf,
    /// How many versions that has now.
    pub versions: usize,
    /// Bytes that were written.
    pub bytes: u64,
}

impl TimeSeries {
    /// Go on with the time series of `region` at `path`, or begin one there. `path` ends in `.vtkhdf`. A file that is not a time
    /// series of that region is an error, and left alone.
    pub fn open(
        path: impl AsRef<Path>,
        region: &str,
        options: SeriesOptions,
    ) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| name.len() > 7 && name.ends_with(".vtkhdf")) else {
            return Err(WriteError::SeriesName(path.to_owned()));
        };
        let dir = atomic::directory(path);
        if !dir.is_dir() {
            return Err(WriteError::NoDirectory(dir.to_owned()));
        }
        let lock = Lock::take(dir, name, options.mode)?;
        let part = Part::newest(path)?;
        if let Some(part) = &part {
            check_region(part, region)?;
            if lock.is_held() {
                part.tidy()?;
            }
        }
        Ok(TimeSeries {
            path: path.to_owned(),
            region: region.to_owned(),
            options,
            part,
            leaving: Vec::new(),
            _lock: lock,
        })
    }

    /// The newest version that is in the series.
    pub fn last(&self) -> Option<Stamp> {
        self.part.as_ref().and_then(|part| part.contents.last())
    }

    /// Append `snapshot`, whose step comes after the last. `changed` may say of a field that it has not changed since the
    /// snapshot before: then its bytes are not even looked at. Whatever it says, bytes that are the same are not stored again.
    pub fn append(
        &mut self,
        snapshot: &Snapshot<'_>,
        changed: impl Fn(&FieldDesc) -> bool,
    ) -> Result<Appended, WriteError> {
        let filled = self.fill(snapshot, changed)?;
        self.commit(filled)
    }

    /// Write the bytes of `snapshot`, which is not needed any more when this returns. It is in the series after
    /// [`TimeSeries::commit`].
    pub fn fill(
        &mut self,
        snapshot: &Snapshot<'_>,
        changed: impl Fn(&FieldDesc) -> bool,
    ) -> Result<FilledRow, WriteError> {
        let mut part = self.part_for(snapshot)?;
        let (row, hashes) = row(&part, snapshot, changed)?;
        let new = snapshot.table.fields.iter().zip(&row.files);
        let new = new.filter(|(_, file)| **file == part.next);
        let table = FieldTable {
            fields: new.map(|(field, _)| field.clone()).collect(),
            ..FieldTable::default()
        };
        let rows = match table.fields.is_empty() {
            true => None,
            false => {
                let options = Options {
                    compression: self.options.compression,
                    mode: self.options.mode,
                    ..Options::default()
                };
                Some(rows::write(
                    &part.rows(),
                    part.next,
                    snapshot,
                    &table,
                    &options,
                )?)
            }
        };
        part.next += u64::from(rows.is_some());
        part.contents.versions.push(row);
        part.contents.newest = hashes;
        part.contents.keep(self.options.keep);
        Ok(FilledRow { rows, part })
    }

    /// Bring what was filled to the disk, and show it to readers.
    pub fn commit(&mut self, filled: FilledRow) -> Result<Appended, WriteError> {
        let FilledRow { rows, mut part } = filled;
        let old = self.part.as_ref().filter(|old| old.number == part.number);
        let before = old.map(|old| old.contents.files()).unwrap_or_default();
        let mut bytes = rows.map_or(Ok(0), Rows::commit)?;
        bytes += part.end_chapter(self.options.chapter, self.options.mode)?;
        bytes += part.write(self.options.mode)?;
        self.discard_leaving(self.options.grace);
        let leaving = &before - &part.contents.files();
        self.leaving.push((Instant::now(), part.rows(), leaving));
        let appended = Appended {
            path: part.path.clone(),
            versions: part.contents.versions.len(),
            bytes,
        };
        self.part = Some(part);
        Ok(appended)
    }

    /// Remove what nothing refers to for so long.
    fn discard_leaving(&mut self, grace: Duration) {
        self.leaving.retain(|(since, dir, files)| {
            let stays = since.elapsed() < grace;
            if !stays {
                rows::discard(dir, files);
            }
            stays
        });
    }

    /// The part that `snapshot` goes to, without what it replaces.
    fn part_for(&self, snapshot: &Snapshot<'_>) -> Result<Part, WriteError> {
        let contents = || Contents::new(&self.region, snapshot.table);
        let Some(part) = &self.part else {
            return Part::begin(self.path.clone(), 1, contents());
        };
        let mut part = part.clone();
        let step = snapshot.stamp.step;
        if let Some(last) = part.contents.last().filter(|last| step <= last.step) {
            if !self.options.replace_later {
                return Err(WriteError::Earlier {
                    path: part.path,
                    step,
                    last: last.step,
                });
            }
            part.contents.cut(step);
        }
        if part.contents.takes(snapshot.table) {
            return Ok(part);
        }
        let number = part.number + 1;
        Part::begin(part::path_of(&self.path, number), number, contents())
    }
}

impl Drop for TimeSeries {
    fn drop(&mut self) {
        self.discard_leaving(Duration::ZERO);
    }
}

fn check_region(part: &Part, region: &str) -> Result<(), WriteError> {
    if part.contents.region == region {
        return Ok(());
    }
    Err(WriteError::OtherSeries {
        path: part.path.clone(),
        found: part.contents.region.clone(),
        expected: region.to_owned(),
    })
}

/// Which file holds, or is going to hold, each field of `snapshot`; and the checksums of the fields.
fn row(
    part: &Part,
    snapshot: &Snapshot<'_>,
    changed: impl Fn(&FieldDesc) -> bool,
) -> Result<(Row, Vec<[u64; 2]>), WriteError> {
    let newest = part.contents.versions.last();
    let known = newest.filter(|_| !part.contents.newest.is_empty());
    let (mut files, mut hashes) = (Vec::new(), Vec::new());
    for (at, field) in snapshot.table.fields.iter().enumerate() {
        let before = known.map(|row| (row.files[at], part.contents.newest[at]));
        if let Some((file, hash)) = before.filter(|_| !changed(field)) {
            files.push(file);
            hashes.push(hash);
            continue;
        }
        let hash = checksum(snapshot.bytes(field)?);
        let same = before.filter(|(_, before)| *before == hash);
        files.push(same.map_or(part.next, |(file, _)| file));
        hashes.push(hash);
    }
    let stamp = snapshot.stamp;
    let row = Row {
        stamp,
        files,
        chapter: None,
    };
    Ok((row, hashes))
}

fn checksum(bytes: &[u8]) -> [u64; 2] {
    let hash = xxh3_128(bytes);
    [(hash >> 64) as u64, hash as u64]
}
