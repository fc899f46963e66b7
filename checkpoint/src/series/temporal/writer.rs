//! The writer of a time series.

use super::contents::Contents;
use super::options::SeriesOptions;
use super::part::{self, Part};
use super::row::NewRow;
use super::rows::{self, New, Rows};
use crate::error::WriteError;
use crate::file::{Lock, directory};
use crate::options::Options;
use crate::snapshot::Snapshot;
use crate::write::layouts::vtkhdf::Plan;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tcasm_core::field::FieldDesc;
use tcasm_core::format::stamp::Stamp;

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
        let plan = Plan::of_series(snapshot.table, part.contents.moves());
        let NewRow { row, hashes, made } = NewRow::of(&part, snapshot, &plan, changed)?;
        let fields = snapshot.table.fields.iter().zip(&row.files);
        let fields = fields.filter(|(_, file)| **file == part.next);
        let new = New {
            fields: fields.map(|(field, _)| field).collect(),
            made,
            plan: &plan,
        };
        let rows = match new.fields.is_empty() && new.made.is_empty() {
            true => None,
            false => Some(self.rows(&part, snapshot, &new)?),
        };
        part.next += u64::from(rows.is_some());
        part.contents.versions.push(row);
        part.contents.newest = hashes;
        part.contents.renew(snapshot.table);
        part.contents.keep(self.options.keep);
        Ok(FilledRow { rows, part })
    }

    /// Writes the next file of rows of `part`.
    fn rows(
        &self,
        part: &Part,
        snapshot: &Snapshot<'_>,
        new: &New<'_>,
    ) -> Result<Rows, WriteError> {
        let options = Options {
            compression: self.options.compression,
            mode: self.options.mode,
            direct: self.options.direct,
            ..Options::default()
        };
        rows::write(&part.rows(), part.next, snapshot, new, &options)
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
        let Some(part) = &self.part else {
            let contents = Contents::new(&self.region, snapshot.table);
            return Part::begin(self.path.clone(), 1, contents);
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
        let next = part.contents.next_part(snapshot.table);
        Part::begin(part::path_of(&self.path, number), number, next)
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
