//! Files of checkpoints as a tier sees them.

use crate::error::ReadError;
use crate::find::{Form, Found};
use crate::full::Full;
use crate::increment::{Base, Increment};
use crate::tier::contents::{Entry, Kind};
use std::fs;
use std::path::Path;

/// What the manifest is to say of a file. Its structure is checked, its fields are not.
pub fn describe(found: &Found) -> Result<Entry, ReadError> {
    let path = &found.path;
    let (header, kind, base_id) = match found.form {
        Form::Full(_) => (Full::open(path)?.into_header(), Kind::Full, String::new()),
        Form::Increment => {
            let increment = Increment::open(path)?;
            let Base { step: base, id } = increment.base().clone();
            (increment.into_header(), Kind::Increment { base }, id)
        }
    };
    let file = path.file_name().unwrap_or_default();
    Ok(Entry {
        step: header.stamp.step,
        version: header.stamp.version,
        time: header.stamp.time,
        kind,
        file: file.to_string_lossy().into_owned(),
        bytes: fs::metadata(path).map_err(ReadError::io(path))?.len(),
        id: header.id,
        base_id,
        seal: header.seal,
    })
}

/// Check all of a file, alone: not what it builds on.
pub fn verify(path: &Path, form: Form) -> Result<(), ReadError> {
    match form {
        Form::Full(_) => Full::open(path)?.verify(),
        Form::Increment => Increment::open(path)?.verify(),
    }
}
