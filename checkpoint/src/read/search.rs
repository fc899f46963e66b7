//! Searches folders for the checkpoints of a run.

use crate::error::ReadError;
use crate::file::seal;
use crate::format::names::{self, Form, Found};
use crate::options::Layout;
use crate::series::list;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// The checkpoints that are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Their name. `None` if all checkpoints there must have the same name.
    pub name: Option<&'a str>,
    /// Their step. `None` if any will do.
    pub step: Option<u64>,
}

/// Checkpoints, each with the number of its tier.
type InTiers = Vec<(usize, Found)>;
/// Files that could not be used, with their errors.
pub type PassedOver = Vec<(PathBuf, ReadError)>;

/// Returns the checkpoints in `dir`, newest first. They must be of one run.
pub fn in_dir(dir: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let found = names::in_dir(dir).map_err(ReadError::io(dir))?;
    let found = found.into_iter().rev().map(|file| (0, file)).collect();
    let found = of_one_run(dir, found)?;
    Ok(found.into_iter().map(|(_, file)| file.path).collect())
}

/// Returns the checkpoints in `dirs`, the tiers of a run, newest first; of a step, those of the
/// fastest tier first. A tier is a folder, or a list in it. Also returns the tiers that cannot be
/// read. Errors name `place`.
pub fn in_tiers(
    place: &Path,
    dirs: &[&Path],
    wanted: Wanted<'_>,
) -> Result<(Vec<PathBuf>, PassedOver), ReadError> {
    let (mut found, mut away) = (Vec::new(), Vec::new());
    for (tier, dir) in dirs.iter().enumerate() {
        match list::checkpoints(dir) {
            Ok(files) => found.extend(files.into_iter().map(|file| (tier, file))),
            // A tier that is lost, or unreachable for now, is not an error: there are others.
            Err(error) => away.push((dir.to_path_buf(), ReadError::io(dir)(error))),
        }
    }
    let mut found = match wanted.name {
        Some(name) => called(place, name, found, away.is_empty())?,
        None => of_one_run(place, found)?,
    };
    found.sort_by_key(|(tier, file)| (Reverse(file.step), *tier, file.form));
    if let Some(step) = wanted.step {
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

/// Returns those of `found` that are called `name`. Fails if there are only others, and `complete`
/// says that all folders could be read.
fn called(place: &Path, name: &str, found: InTiers, complete: bool) -> Result<InTiers, ReadError> {
    let is_called = |(_, file): &(usize, Found)| file.name == name;
    let (wanted, others): (InTiers, InTiers) = found.into_iter().partition(is_called);
    if !wanted.is_empty() || !complete {
        return Ok(wanted);
    }
    match runs(&others) {
        have if have.is_empty() => Ok(wanted),
        have => Err(ReadError::NoName {
            place: place.to_owned(),
            name: name.to_owned(),
            have,
        }),
    }
}

/// Returns the names of the runs among `found`, sorted. A run exists if one of its files has a
/// seal.
fn runs(found: &[(usize, Found)]) -> Vec<String> {
    let is_ours = |file: &Found| seal::identity(&file.path).is_ok_and(|seal| seal.is_some());
    let mut runs: Vec<String> = found.iter().map(|(_, file)| file.name.clone()).collect();
    runs.sort();
    runs.dedup();
    runs.retain(|run| {
        let mut files = found.iter().filter(|(_, file)| file.name == *run);
        files.any(|(_, file)| is_ours(file))
    });
    runs
}

/// Returns those of `found` that may be of one run. Fails if there are several runs.
fn of_one_run(dir: &Path, mut found: InTiers) -> Result<InTiers, ReadError> {
    let runs = runs(&found);
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
