//! The contents of a folder, as its files and its manifests tell them.

use super::contents::Contents;
use super::manifest::NAME;
use crate::error::ReadError;
use crate::format::names;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the files of checkpoints of all runs in `dir`, in ascending order of steps.
pub fn checkpoint_files(dir: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let found = names::in_dir(dir).map_err(ReadError::io(dir))?;
    Ok(found.into_iter().map(|found| found.path).collect())
}

/// Returns the contents of all manifests in `dir`, in the order of their names.
pub fn manifests(dir: &Path) -> Result<Vec<Contents>, ReadError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(ReadError::io(dir))? {
        let file = entry.map_err(ReadError::io(dir))?.path();
        if file.to_str().is_some_and(|name| name.ends_with(NAME)) {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(ReadError::NoneFound(dir.to_owned()));
    }
    files.sort();
    files.iter().map(|file| Contents::read(file)).collect()
}
