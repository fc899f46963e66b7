//! Opens checkpoints: a file, or the newest one that can be used among the files of a run, which
//! may still go on.

use super::chain::{Care, Chains};
use super::checkpoint::{Checkpoint, open_file};
use super::search::{self, PassedOver, Wanted};
use crate::error::ReadError;
use crate::series::list;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How often files are listed at most.
const ATTEMPTS: usize = 10;

impl Checkpoint {
    /// Opens the checkpoint at `path`. If that is a directory or a `.series` file, opens the newest
    /// checkpoint in it that can be used. [`Checkpoint::passed_over`] tells which newer ones could
    /// not be used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        if path.is_dir() {
            newest(path, Care::Structure, || {
                Ok((search::in_dir(path)?, Vec::new()))
            })
        } else if path.extension().is_some_and(|e| e == "series") {
            newest(path, Care::Structure, || {
                let mut files = list::files(path)?;
                files.reverse();
                Ok((files, Vec::new()))
            })
        } else {
            open_file(path, &mut Chains::to_read(Care::Structure))
        }
    }

    /// Opens the newest checkpoint of which every field can be read, or that of `step`. `dirs` are
    /// the tiers of a run, fastest first, or the path of a single file. [`Checkpoint::passed_over`]
    /// tells which newer ones could not be used.
    ///
    /// A checkpoint that lacks fields which a restart needs ([`FieldTable::missing`]) is passed
    /// over if there is an older one that can be used and lacks none.
    ///
    /// In place of a folder, its file `NAME.vtkhdf.series` can be given, or the pattern
    /// `NAME_%T.h5`. Both stand for all checkpoints called NAME in the folder, increments among
    /// them.
    ///
    /// If that checkpoint holds rounded values, the error is [`ReadError::Lossy`].
    ///
    /// [`FieldTable::missing`]: tcasm_core::field::FieldTable::missing
    pub fn restart(dirs: &[impl AsRef<Path>], step: Option<u64>) -> Result<Self, ReadError> {
        Checkpoint::search(dirs, Wanted { name: None, step })?.if_exact()
    }

    /// Does the same as [`Checkpoint::restart`] where the folders hold the checkpoints of several
    /// regions: takes only those called `name`, which is the name of the region. If there are only
    /// others, the error [`ReadError::NoName`] lists their names.
    pub fn restart_named(
        dirs: &[impl AsRef<Path>],
        name: &str,
        step: Option<u64>,
    ) -> Result<Self, ReadError> {
        let name = Some(name);
        Checkpoint::search(dirs, Wanted { name, step })?.if_exact()
    }

    /// Does the same as [`Checkpoint::restart`], or with a `name` as
    /// [`Checkpoint::restart_named`], but accepts rounded values. The table says which they are
    /// ([`FieldDesc::relative_error`]).
    ///
    /// [`FieldDesc::relative_error`]: tcasm_core::field::FieldDesc::relative_error
    pub fn restart_lossy(
        dirs: &[impl AsRef<Path>],
        name: Option<&str>,
        step: Option<u64>,
    ) -> Result<Self, ReadError> {
        let found = Checkpoint::search(dirs, Wanted { name, step })?;
        Ok(found.allow_lossy())
    }

    fn search(dirs: &[impl AsRef<Path>], wanted: Wanted<'_>) -> Result<Self, ReadError> {
        let dirs: Vec<&Path> = dirs.iter().map(AsRef::as_ref).collect();
        if let ([file], None) = (&dirs[..], wanted.step)
            && file.is_file()
            && list::run(file).is_none()
        {
            let checkpoint = open_file(file, &mut Chains::to_read(Care::Fields))?;
            return checkpoint.if_called(wanted.name);
        }
        let place = dirs.first().copied().unwrap_or(Path::new("."));
        newest(place, Care::Fields, || {
            search::in_tiers(place, &dirs, wanted)
        })
    }
}

/// Opens the newest checkpoint that can be used. `list` returns the files, newest first, and the
/// tiers that cannot be read. If files are gone since they were listed, looks again: the run has
/// replaced them by newer ones.
fn newest(
    place: &Path,
    care: Care,
    mut list: impl FnMut() -> Result<(Vec<PathBuf>, PassedOver), ReadError>,
) -> Result<Checkpoint, ReadError> {
    let mut before = Vec::new();
    for _ in 1..ATTEMPTS {
        let (files, away) = list()?;
        let tiers = away.len();
        let found = first_usable(place, files.clone(), away, care);
        if files == before || !some_are_gone(&found, tiers) {
            return found;
        }
        before = files;
    }
    let (files, away) = list()?;
    first_usable(place, files, away, care)
}

/// Returns true if files that were passed over do not exist any more. The first of what was passed
/// over are `tiers` tiers.
fn some_are_gone(found: &Result<Checkpoint, ReadError>, tiers: usize) -> bool {
    let passed_over = match found {
        Ok(checkpoint) => checkpoint.passed_over(),
        Err(ReadError::NoneUsable(_, files)) => files,
        Err(_) => return false,
    };
    passed_over.iter().skip(tiers).any(|(path, _)| {
        let there = std::fs::symlink_metadata(path);
        there.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    })
}

/// Opens the first of `files` that can be used. `passed_over` are files that could not be used
/// before. If fields are checked, it is for a restart: the first one that lacks none is taken, or
/// else the first.
fn first_usable(
    place: &Path,
    files: Vec<PathBuf>,
    mut passed_over: PassedOver,
    care: Care,
) -> Result<Checkpoint, ReadError> {
    let mut chains = Chains::to_read(care);
    // The first one that lacks fields, and the number of files that were passed over before it.
    let mut first = None;
    for path in files {
        let error = match open_file(&path, &mut chains) {
            Ok(checkpoint) => match checkpoint.lacks().filter(|_| care >= Care::Fields) {
                None => return Ok(checkpoint.after(passed_over)),
                Some(error) => {
                    first.get_or_insert((checkpoint, passed_over.len()));
                    error
                }
            },
            Err(error) => error,
        };
        tracing::warn!("passing over a checkpoint: {error}");
        passed_over.push((path, error));
    }
    if let Some((checkpoint, before)) = first {
        passed_over.truncate(before);
        return Ok(checkpoint.after(passed_over));
    }
    match passed_over.is_empty() {
        true => Err(ReadError::NoneFound(place.to_owned())),
        false => Err(ReadError::NoneUsable(place.to_owned(), passed_over)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::search;
    use super::*;
    use crate::tier::test::write;
    use crate::{Checkpointer, Retention, Settings};

    /// Opens the newest checkpoint in a folder. The run goes on for a step after each of the first
    /// listings, and keeps only the newest checkpoint. Returns its step, and how often was listed.
    fn while_the_run_goes_on(steps: usize) -> (Result<u64, ReadError>, usize) {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings {
            keep: Retention::last(1),
            ..Settings::new(dir.path())
        };
        let mut to = Checkpointer::open("run", settings).unwrap();
        write(&mut to, 1);
        let mut listed = 0;
        let found = newest(dir.path(), Care::Fields, || {
            let files = search::in_dir(dir.path())?;
            listed += 1;
            if listed <= steps {
                write(&mut to, listed as u64 + 1);
            }
            Ok((files, Vec::new()))
        });
        (found.map(|found| found.stamp().step), listed)
    }

    #[test]
    fn files_that_go_after_they_were_listed_are_looked_for_again() {
        for steps in 0..ATTEMPTS {
            let (found, listed) = while_the_run_goes_on(steps);
            assert_eq!((found.unwrap(), listed), (steps as u64 + 1, steps + 1));
        }
        let (found, listed) = while_the_run_goes_on(ATTEMPTS);
        assert!(matches!(found, Err(ReadError::NoneUsable(..))), "{found:?}");
        assert_eq!(listed, ATTEMPTS);
    }

    #[test]
    fn list_that_always_names_files_that_are_gone_is_read_twice() {
        let dir = tempfile::tempdir().unwrap();
        let mut listed = 0;
        let found = newest(dir.path(), Care::Structure, || {
            listed += 1;
            Ok((vec![dir.path().join("run_00000001.vtkhdf")], Vec::new()))
        });
        assert!(matches!(found, Err(ReadError::NoneUsable(..))));
        assert_eq!(listed, 2);
    }
}
