//! The manifest entries of checkpoint files.

use super::contents::{Entry, Kind};
use crate::error::ReadError;
use crate::format::full::Full;
use crate::format::header::Header;
use crate::format::increment::Increment;
use crate::format::names::{Form, Found};
use std::fs;
use std::path::Path;

/// Returns the manifest entry of a file. The structure of the file is checked, its fields are not.
pub fn describe(found: &Found) -> Result<Entry, ReadError> {
    let path = &found.path;
    let header = match found.form {
        Form::Full(_) => Full::open(path)?.into_header(),
        Form::Increment => Increment::open(path)?.into_header(),
    };
    let bytes = fs::metadata(path).map_err(ReadError::io(path))?.len();
    Ok(entry(path, header, bytes))
}

/// Returns the manifest entry of a file of `bytes` bytes at `path` with this header.
pub fn entry(path: &Path, header: Header, bytes: u64) -> Entry {
    let file = path.file_name().unwrap_or_default();
    let (kind, base_id) = match header.base {
        Some(base) => (Kind::Increment { base: base.step }, base.id),
        None => (Kind::Full, String::new()),
    };
    Entry {
        step: header.stamp.step,
        version: header.stamp.version,
        time: header.stamp.time,
        kind,
        file: file.to_string_lossy().into_owned(),
        bytes,
        relative_error: header.table.relative_error(),
        id: header.id,
        base_id,
        seal: header.seal,
    }
}

/// Checks all of a file, but not what it builds on.
pub fn verify(path: &Path, form: Form) -> Result<(), ReadError> {
    match form {
        Form::Full(_) => Full::open(path)?.verify(),
        Form::Increment => Increment::open(path)?.verify(),
    }
}
