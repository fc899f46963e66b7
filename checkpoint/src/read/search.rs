//! Searches folders for the checkpoints of a run.

use crate::error::ReadError;
use crate::file::seal;
use crate::format::names::{self, Form, Found};
use crate::options::Layout;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// Files that could not be used, with their errors.
type PassedOver = Vec<(PathBuf, ReadError)>;

/// Returns the checkpoints in `dir`, newest first. They must be of one run.
pub fn in_dir(dir: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let found = names::in_dir(dir).map_err(ReadError::io(dir))?;
    let found = found.into_iter().rev().map(|file| (0, file)).collect();
    let found = of_one_run(dir, found)?;
    Ok(found.into_iter().map(|(_, file)| file.path).collect())
}

/// Returns the checkpoints in `dirs`, the tiers of a run, newest first; of a step, those of the
/// fastest tier first. They must be of one run. If `step` is given, returns only those of that
/// step. Also returns the tiers that cannot be read. Errors name `place`.
pub fn in_tiers(
    place: &Path,
    dirs: &[&Path],
    step: Option<u64>,
) -> Result<(Vec<PathBuf>, PassedOver), ReadError> {
    let (mut found, mut away) = (Vec::new(), Vec::new());
    for (tier, dir) in dirs.iter().enumerate() {
        match names::in_dir(dir) {
            Ok(files) => found.extend(files.into_iter().map(|file| (tier, file))),
            // A tier that is lost, or unreachable for now, is not an error: there are others.
            Err(error) => away.push((dir.to_path_buf(), ReadError::io(dir)(error))),
        }
    }
    let mut found = of_one_run(place, found)?;
    found.sort_by_key(|(tier, file)| (Reverse(file.step), *tier, file.form));
    if let Some(step) = step {
        let mut have: Vec<u64> = found.iter().map(|(_, file)| file.step).collect();
        have.dedup();
        found.retain(|(_, file)| file.step == step);
        if found.is_empty() {
            let dir = place.to_owned();
            return Err(ReadError::NoStep { dir, step, have });
        }
    }
    let files = found.into_iter().map(|(_, file)| file.path).collect();
    Ok((files, away))
}

/// Returns those of `found` that may be of one run; each comes with the number of its tier. Fails
/// if there are several runs. A run exists if one of its files has a seal.
fn of_one_run(
    dir: &Path,
    mut found: Vec<(usize, Found)>,
) -> Result<Vec<(usize, Found)>, ReadError> {
    let is_ours = |file: &Found| seal::identity(&file.path).is_ok_and(|seal| seal.is_some());
    let mut runs: Vec<String> = found.iter().map(|(_, file)| file.name.clone()).collect();
    runs.sort();
    runs.dedup();
    runs.retain(|run| {
        let mut files = found.iter().filter(|(_, file)| file.name == *run);
        files.any(|(_, file)| is_ours(file))
    });
    if runs.len() > 1 {
        let dir = dir.to_owned();
        return Err(ReadError::SeveralNames { dir, names: runs });
    }
    // Other programs use names like `<name>_<step>.h5` too, so such files are ignored. Other files
    // with the name of a checkpoint are kept, so that their errors are reported.
    let is_foreign = |file: &Found| file.form == Form::Full(Layout::OpenPmd);
    if let Some(run) = runs.first() {
        found.retain(|(_, file)| file.name == *run || !is_foreign(file));
    }
    Ok(found)
}
