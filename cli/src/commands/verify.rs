//! `tcasm verify`: read checkpoints, and check every byte.

use crate::args::VerifyArgs;
use crate::exit::{Code, Failure};
use crate::output;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpoint, ReadError, checkpoint_files};

pub fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let (mut good, mut bad) = (0, 0);
    for path in &args.paths {
        for file in files(path)? {
            match verified(&file) {
                Ok(checkpoint) => {
                    good += 1;
                    output::line(&line(&file, &checkpoint))?;
                }
                Err(error) => {
                    bad += 1;
                    output::line(&format!("BAD  {}: {error}", file.display()))?;
                }
            }
        }
    }
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

fn verified(file: &Path) -> Result<Checkpoint, ReadError> {
    let checkpoint = Checkpoint::open(file)?;
    checkpoint.verify()?;
    checkpoint.verify_copies()?;
    Ok(checkpoint)
}

fn line(file: &Path, checkpoint: &Checkpoint) -> String {
    let steps = checkpoint.steps();
    let from = match steps.len() {
        1 => String::new(),
        n => format!("  ({n} files, from step {})", steps[0]),
    };
    format!(
        "ok   {}  step {}{from}",
        file.display(),
        checkpoint.stamp().step
    )
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let files = checkpoint_files(path)?;
    match files.is_empty() {
        true => Err(ReadError::NoneFound(path.to_owned()).into()),
        false => Ok(files),
    }
}
