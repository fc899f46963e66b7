//! Checkpoint files by their names: `<name>_<step>.vtkhdf`.

use std::io;
use std::path::{Path, PathBuf};

const EXTENSION: &str = ".vtkhdf";

/// A file that, by its name, is a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What the run calls its checkpoints.
    pub name: String,
    /// The step in the file's name.
    pub step: u64,
    /// Where it is.
    pub path: PathBuf,
}

/// The file name of the checkpoint of `step`.
pub fn file_name(name: &str, step: u64) -> String {
    format!("{name}_{step:08}{EXTENSION}")
}

/// Name and step out of a file name that [`file_name`] made.
pub fn parse(file: &str) -> Option<(&str, u64)> {
    let (name, digits) = file.strip_suffix(EXTENSION)?.rsplit_once('_')?;
    let step = digits.parse().ok()?;
    (file_name(name, step) == file && !name.is_empty() && !name.starts_with('.'))
        .then_some((name, step))
}

/// The checkpoints in `dir`, by ascending step.
pub fn in_dir(dir: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let file = entry?.file_name();
        if let Some((name, step)) = file.to_str().and_then(parse) {
            found.push(Found {
                name: name.to_owned(),
                step,
                path: dir.join(&file),
            });
        }
    }
    found.sort_by(|a, b| (a.step, &a.name).cmp(&(b.step, &b.name)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_made() {
        for (name, step) in [("run", 0), ("a_b", 99_999_999), ("x.y-z", 123_456_789_012)] {
            assert_eq!(parse(&file_name(name, step)), Some((name, step)));
        }
        for other in [
            "run_1.vtkhdf",
            "_00000001.vtkhdf",
            "run_00000001.hdf",
            "run.vtkhdf",
            "r_+0000001.vtkhdf",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
