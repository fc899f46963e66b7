//! The contents of a folder, as its files and its manifests tell them.

use super::contents::Contents;
use super::manifest::NAME;
use crate::error::ReadError;
use crate::series::list;
use std::fs;
use std::path::{Path, PathBuf};

/// A file, with the name of the region that it is of.
type Named = (String, PathBuf);

/// Returns the files of checkpoints in the folder `dir`, in ascending order of steps. If `dir` is a
/// file `NAME.vtkhdf.series`, or the pattern `NAME_%T.h5`, returns those called NAME in its folder.
pub fn checkpoint_files(dir: &Path) -> Result<Vec<PathBuf>, ReadError> {
    Ok(paths(files(dir)?))
}

/// Returns those of [`checkpoint_files`] that are called `name`. If there are only others, the
/// error lists their names.
pub fn checkpoint_files_named(dir: &Path, name: &str) -> Result<Vec<PathBuf>, ReadError> {
    called(dir, name, files(dir)?).map(paths)
}

/// Returns the contents of all manifests in the folder `dir`, in the order of their names. If `dir`
/// is a file `NAME.vtkhdf.series`, or the pattern `NAME_%T.h5`, returns that of NAME in its folder.
pub fn manifests(dir: &Path) -> Result<Vec<Contents>, ReadError> {
    read(manifest_files(dir)?)
}

/// Returns those of [`manifests`] that are of the region `name`. If there are only others, the
/// error lists their names.
pub fn manifests_named(dir: &Path, name: &str) -> Result<Vec<Contents>, ReadError> {
    read(called(dir, name, manifest_files(dir)?)?)
}

fn files(dir: &Path) -> Result<Vec<Named>, ReadError> {
    let found = list::checkpoints(dir).map_err(ReadError::io(dir))?;
    Ok(found
        .into_iter()
        .map(|file| (file.name, file.path))
        .collect())
}

/// Returns the manifests in `dir`, sorted. There is at least one.
fn manifest_files(dir: &Path) -> Result<Vec<Named>, ReadError> {
    let run = list::run(dir);
    let folder = run.map_or(dir, |(folder, _)| folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(ReadError::io(folder))? {
        let path = entry.map_err(ReadError::io(folder))?.path();
        let file = path.file_name().and_then(|file| file.to_str());
        let name = file.and_then(|file| file.strip_suffix(NAME));
        if let Some(name) = name.filter(|name| run.is_none_or(|(_, run)| run == *name)) {
            files.push((name.to_owned(), path));
        }
    }
    files.sort();
    match files.is_empty() {
        true => Err(ReadError::NoneFound(dir.to_owned())),
        false => Ok(files),
    }
}

fn read(manifests: Vec<Named>) -> Result<Vec<Contents>, ReadError> {
    let files = paths(manifests);
    files.iter().map(|file| Contents::read(file)).collect()
}

fn paths(files: Vec<Named>) -> Vec<PathBuf> {
    files.into_iter().map(|(_, path)| path).collect()
}

/// Returns those of `files` that are called `name`. Fails if there are only others.
fn called(place: &Path, name: &str, files: Vec<Named>) -> Result<Vec<Named>, ReadError> {
    let is_called = |(file, _): &Named| file == name;
    let (wanted, others): (Vec<_>, Vec<_>) = files.into_iter().partition(is_called);
    if !wanted.is_empty() || others.is_empty() {
        return Ok(wanted);
    }
    let mut have: Vec<String> = others.into_iter().map(|(file, _)| file).collect();
    have.sort();
    have.dedup();
    Err(ReadError::NoName {
        place: place.to_owned(),
        name: name.to_owned(),
        have,
    })
}
