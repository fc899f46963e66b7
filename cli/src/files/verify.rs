//! `tcasm verify`: reads checkpoints and checks every byte.

use crate::failure::{Code, Failure};
use crate::files::args::VerifyArgs;
use crate::files::file_name::Series;
use crate::files::job;
use crate::files::stored::lossy;
use crate::output;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{ReadError, Verified, Verifier, checkpoint_files, checkpoint_files_named};

pub fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let mut tally = Tally::default();
    for found in job::manifests(&args.paths, args.name.as_deref())? {
        job::verify(&found, &args.paths, |good, line| tally.count(good, &line))?;
    }
    for path in &args.paths {
        // An error of one folder or file does not stop the check of the others.
        match files(path, args.name.as_deref()) {
            // The folder has checkpoints of a job, or parts of one without values.
            Err(ReadError::NoneFound(_) | ReadError::NoName { .. }) if tally.any() => {}
            Ok(files) => files.iter().try_for_each(|file| tally.verify(file))?,
            Err(error) if args.paths.len() == 1 => return Err(error.into()),
            Err(error) => tally.report(path, Err(error))?,
        }
    }
    let Tally { good, bad, .. } = tally;
    match bad {
        0 => Ok(output::line(&format!("{good} checkpoints are whole"))?),
        _ => Err(Failure::new(
            Code::Io,
            format!(
                "{bad} of {} checkpoints cannot be used; restore passes them over",
                good + bad
            ),
        )),
    }
}

/// Counts the results so far.
#[derive(Default)]
struct Tally {
    verifier: Verifier,
    good: usize,
    bad: usize,
}

impl Tally {
    fn verify(&mut self, file: &Path) -> Result<(), Failure> {
        let found = self.verifier.verify(file);
        self.report(file, found)
    }

    /// Returns true if there was a result.
    fn any(&self) -> bool {
        self.good + self.bad > 0
    }

    /// Counts a result, and prints the line about it.
    fn count(&mut self, good: bool, line: &str) -> Result<(), Failure> {
        match good {
            true => self.good += 1,
            false => self.bad += 1,
        }
        output::line(line)
    }

    /// Counts and prints a result.
    fn report(&mut self, path: &Path, found: Result<Verified, ReadError>) -> Result<(), Failure> {
        match found {
            Ok(checkpoint) => self.count(true, &line(path, &checkpoint)),
            Err(error) => self.count(false, &format!("BAD  {}: {error}", path.display())),
        }
    }
}

fn line(file: &Path, checkpoint: &Verified) -> String {
    let from = match checkpoint.files {
        1 => String::new(),
        n => format!("  ({n} files, from step {})", checkpoint.first),
    };
    format!(
        "ok   {}  step {}{}{from}",
        file.display(),
        checkpoint.step,
        lossy(checkpoint.relative_error)
    )
}

/// Returns the files to check: the checkpoints in a folder, or those that a `.series` file or a
/// pattern like `run_%T.h5` stands for, or one file.
fn files(path: &Path, name: Option<&str>) -> Result<Vec<PathBuf>, ReadError> {
    let is_series = matches!(Series::of(path, None), Ok(Series::Each { .. }));
    if !path.is_dir() && !is_series {
        return Ok(vec![path.to_owned()]);
    }
    let files = match name {
        Some(name) => checkpoint_files_named(path, name)?,
        None => checkpoint_files(path)?,
    };
    match files.is_empty() {
        true => Err(ReadError::NoneFound(path.to_owned())),
        false => Ok(files),
    }
}
