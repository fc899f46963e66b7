//! The manifest entries of checkpoint files, and the files that a new checkpoint may replace.

use super::contents::{Entry, Kind};
use crate::error::{ReadError, WriteError};
use crate::file::Fault;
use crate::format::full::Full;
use crate::format::header::Header;
use crate::format::increment::Increment;
use crate::format::names::{Form, Found};
use std::fs;
use std::io;
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

/// Checks that a new checkpoint may take the name of `found`: no file has it, or a checkpoint of a
/// run, whole or damaged. Files of other programs and exports are not replaced.
pub fn check_free(found: &Found) -> Result<(), WriteError> {
    let path = &found.path;
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Fault::from(e).at(path)),
        // Only the link is replaced. The file that it leads to stays.
        Ok(there) if there.is_symlink() => return Ok(()),
        Ok(_) => {}
    }
    match describe(found) {
        Ok(entry) if !entry.id.is_empty() => Ok(()),
        Err(ReadError::CutShort { .. } | ReadError::Damaged { .. }) => Ok(()),
        Err(ReadError::Io { source, .. }) => Err(Fault::from(source).at(path)),
        _ => Err(WriteError::Exists(path.clone())),
    }
}

/// Checks all of a file, but not what it builds on.
pub fn verify(path: &Path, form: Form) -> Result<(), ReadError> {
    match form {
        Form::Full(_) => Full::open(path)?.verify(),
        Form::Increment => Increment::open(path)?.verify(),
    }
}
