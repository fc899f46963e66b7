//! The writer of a time series.

use super::contents::{Contents, Row};
use super::options::SeriesOptions;
use super::part::{self, Part};
use super::rows::{self, Rows};
use crate::error::WriteError;
use crate::file::{Lock, directory};
use crate::options::Options;
use crate::snapshot::Snapshot;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tcasm_core::field::{FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;
use xxhash_rust::xxh3::xxh3_128;

/// The writer of a time series.
#[derive(Debug)]
pub struct TimeSeries {
    path: PathBuf,
    region: String,
    options: SeriesOptions,
    /// The part that is appended to. `None` before the first version.
    part: Option<Part>,
    /// Files of rows to which the series no longer refers, with their folder and the time since
    /// when.
    unused: Vec<(Instant, PathBuf, BTreeSet<u64>)>,
    _lock: Lock,
}

/// A version whose bytes are written, but which is not yet in the series. Its snapshot is no longer
/// needed.
#[derive(Debug)]
pub struct FilledRow {
    rows: Option<Rows>,
    part: Part,
}

/// A version that was appended to the series and is on the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Appended {
    /// The file of the series that holds the version. It is a new one if the fields have changed.
    pub path: PathBuf,
    /// The number of versions in that file.
    pub versions: usize,
    /// The number of bytes that were written.
    pub bytes: u64,
}

impl TimeSeries {
    /// Opens the time series of `region` at `path` to append to it, or begins one there. `path`
    /// must end in `.vtkhdf`. If there is another file, or the series of another region, this is an
    /// error and the file is not touched.
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
        let dir = directory(path);
        if !dir.is_dir() {
            return Err(WriteError::NoDirectory(dir.to_owned()));
        }
        let lock = Lock::take(dir, name, options.mode)?;
        let part = Part::newest(path)?;
        if let Some(part) = &part {
            check_region(part, region)?;
            if lock.is_held() {
                part.remove_unused()?;
            }
        }
        Ok(TimeSeries {
            path: path.to_owned(),
            region: region.to_owned(),
            options,
            part,
            unused: Vec::new(),
            _lock: lock,
        })
    }

    /// Returns the stamp of the newest version in the series.
    pub fn last(&self) -> Option<Stamp> {
        self.part.as_ref().and_then(|part| part.contents.last())
    }

    /// Appends `snapshot`, whose step must be greater than the last one.
    ///
    /// `changed` may return false for a field that has not changed since the snapshot before. The
    /// bytes of that field are not read then. Bytes that are the same are not stored again in any
    /// case.
    pub fn append(
        &mut self,
        snapshot: &Snapshot<'_>,
        changed: impl Fn(&FieldDesc) -> bool,
    ) -> Result<Appended, WriteError> {
        let filled = self.fill(snapshot, changed)?;
        self.commit(filled)
    }

    /// Writes the bytes of `snapshot`, which is no longer needed when this returns.
    /// [`TimeSeries::commit`] adds the version to the series.
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
                    direct: self.options.direct,
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

    /// Brings a filled version to the disk and shows it to readers.
    pub fn commit(&mut self, filled: FilledRow) -> Result<Appended, WriteError> {
        let FilledRow { rows, mut part } = filled;
        let old = self.part.as_ref().filter(|old| old.number == part.number);
        let before = old.map(|old| old.contents.files()).unwrap_or_default();
        let mut bytes = rows.map_or(Ok(0), Rows::commit)?;
        bytes += part.end_chapter(self.options.chapter, self.options.mode)?;
        bytes += part.write(self.options.mode)?;
        self.discard_unused(self.options.grace);
        let unused = &before - &part.contents.files();
        self.unused.push((Instant::now(), part.rows(), unused));
        let appended = Appended {
            path: part.path.clone(),
            versions: part.contents.versions.len(),
            bytes,
        };
        self.part = Some(part);
        Ok(appended)
    }

    /// Removes files to which the series has not referred for at least `grace`.
    fn discard_unused(&mut self, grace: Duration) {
        self.unused.retain(|(since, dir, files)| {
            let stays = since.elapsed() < grace;
            if !stays {
                rows::discard(dir, files);
            }
            stays
        });
    }

    /// Returns the part to which `snapshot` is appended, without the versions that it replaces.
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
        self.discard_unused(Duration::ZERO);
    }
}

/// Returns an error if `part` is of another region.
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

/// Returns the row of `snapshot`, with the file that holds or is going to hold each field, and the
/// checksums of the fields.
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

/// Returns the xxh3 of `bytes`, as two words.
fn checksum(bytes: &[u8]) -> [u64; 2] {
    let hash = xxh3_128(bytes);
    [(hash >> 64) as u64, hash as u64]
}
