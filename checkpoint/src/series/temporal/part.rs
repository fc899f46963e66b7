//! A part of a time series: versions with the same fields. When the fields of a run change, the
//! series goes on in another part: `run.vtkhdf`, `run_2.vtkhdf`, ...

use super::contents::{Chapter, Contents};
use super::{arrays, chapter, index, rows};
use crate::error::{ReadError, WriteError};
use crate::file::{Fault, Mode, atomic, directory};
use std::fs;
use std::path::{Path, PathBuf};

/// One part of a series, which may have no file yet.
#[derive(Clone, Debug)]
pub struct Part {
    /// The file that other programs open.
    pub path: PathBuf,
    /// The number of the part, from 1.
    pub number: u32,
    /// The versions of the part.
    pub contents: Contents,
    /// The number of the next file of rows.
    pub next: u64,
}

/// Returns the path of part `number` of the series at `path`.
pub fn path_of(path: &Path, number: u32) -> PathBuf {
    match number {
        1 => path.to_owned(),
        n => path.with_file_name(format!("{}_{n}.vtkhdf", stem(path))),
    }
}

/// Returns the file name of `path` without `.vtkhdf`.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

impl Part {
    /// Returns a new part without a file. Fails if there is already something at `path`.
    pub fn begin(path: PathBuf, number: u32, contents: Contents) -> Result<Self, WriteError> {
        if path.symlink_metadata().is_ok() {
            return Err(WriteError::NotSeries {
                why: "it is another file".to_owned(),
                path,
            });
        }
        let part = Part {
            path,
            number,
            contents,
            next: 1,
        };
        part.refuse_foreign_rows()?;
        Ok(part)
    }

    /// Returns the newest part of the series at `path`, if there is one.
    pub fn newest(path: &Path) -> Result<Option<Self>, WriteError> {
        let mut newest = None;
        for number in 1.. {
            let path = path_of(path, number);
            if path.symlink_metadata().is_err() {
                break;
            }
            newest = Some(Part::read(path, number)?);
        }
        Ok(newest)
    }

    /// Reads part `number`, whose file is at `path`.
    fn read(path: PathBuf, number: u32) -> Result<Self, WriteError> {
        let contents = Contents::read(&path).map_err(|error| match error {
            ReadError::Io { path, source } => Fault::from(source).at(&path),
            other => WriteError::NotSeries {
                path: path.clone(),
                why: other.to_string(),
            },
        })?;
        arrays::check_sizes(&contents.table).map_err(|why| WriteError::NotSeries {
            path: path.clone(),
            why,
        })?;
        let last = contents.files().last().copied().unwrap_or_default();
        let next = last.checked_add(1).ok_or_else(|| WriteError::NotSeries {
            path: path.clone(),
            why: format!("its last file of rows has the number {last}, and no number follows"),
        })?;
        Ok(Part {
            path,
            number,
            contents,
            next,
        })
    }

    /// Returns the folder of the rows.
    pub fn rows(&self) -> PathBuf {
        self.path.with_file_name(self.rows_name())
    }

    fn rows_name(&self) -> String {
        format!("{}.steps", stem(&self.path))
    }

    /// Puts the versions that are in no chapter into a new one, if there are at least `many`.
    /// Returns the size of its file, or 0.
    pub fn end_chapter(&mut self, many: usize, mode: Mode) -> Result<u64, WriteError> {
        let loose = self.contents.loose();
        if loose.len() < many.max(2) {
            return Ok(0);
        }
        let (file, rows) = (self.next, loose.len() as u64);
        let path = self.rows().join(rows::file_name(file));
        let versions = &self.contents.versions[loose.clone()];
        let bytes = chapter::write(&path, mode, &self.contents, versions)?;
        self.next += 1;
        for (at, version) in (0..).zip(&mut self.contents.versions[loose]) {
            version.chapter = Some(Chapter { file, at, rows });
        }
        Ok(bytes)
    }

    /// Writes the file of the part and returns its size.
    pub fn write(&self, mode: Mode) -> Result<u64, WriteError> {
        index::write(&self.path, mode, &self.rows_name(), &self.contents)
    }

    /// Fails if there are several files of rows although there is no file of the series: they are
    /// data of another series. A single file may remain from a writer that was killed before it
    /// wrote its first file of a series.
    fn refuse_foreign_rows(&self) -> Result<(), WriteError> {
        let rows = self.rows();
        if rows::found(&rows)?.len() > 1 {
            let path = self.path.clone();
            return Err(WriteError::LeftRows { rows, path });
        }
        Ok(())
    }

    /// Removes the files that killed writers have left.
    pub fn remove_unused(&self) -> Result<(), WriteError> {
        rows::remove_unused(&self.rows(), &self.contents.files())?;
        let dir = directory(&self.path);
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let listed = fs::read_dir(dir).map_err(|e| Fault::from(e).at(&self.path))?;
        for entry in listed.flatten() {
            let file = entry.file_name();
            if atomic::is_temporary(&file.to_string_lossy(), |target| target == name) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}
