//! Checkpoint files by their names: `<name>_<step>.vtkhdf` or, as openPMD, `<name>_<step>.h5`; and
//! `<name>_<step>.increment.h5`.

use crate::Layout;
use std::io;
use std::path::{Path, PathBuf};

/// What a file holds, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// All fields.
    Full(Layout),
    /// What has changed since another checkpoint.
    Increment,
}

impl Form {
    /// The forms that the checkpoint of a step can have.
    pub const ALL: [Form; 3] = [
        Form::Full(Layout::VtkHdf),
        Form::Full(Layout::OpenPmd),
        Form::Increment,
    ];

    fn extension(self) -> &'static str {
        match self {
            Form::Full(Layout::VtkHdf) => ".vtkhdf",
            Form::Full(Layout::OpenPmd) => ".h5",
            Form::Increment => ".increment.h5",
        }
    }
}

/// A file that, by its name, is a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What the run calls its checkpoints.
    pub name: String,
    /// The step in the file's name.
    pub step: u64,
    /// What it holds.
    pub form: Form,
    /// Where it is.
    pub path: PathBuf,
}

impl Found {
    /// What the name of `path` says.
    pub fn at(path: &Path) -> Option<Self> {
        let (name, step, form) = parse(path.file_name()?.to_str()?)?;
        Some(Found {
            name: name.to_owned(),
            step,
            form,
            path: path.to_owned(),
        })
    }
}

/// Whether checkpoints can be called so.
pub fn usable(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=128).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(allowed)
}

/// The file name of the checkpoint of `step`.
pub fn file_name(name: &str, step: u64, form: Form) -> String {
    format!("{name}_{step:08}{}", form.extension())
}

/// Name, step and form out of a file name that [`file_name`] made.
pub fn parse(file: &str) -> Option<(&str, u64, Form)> {
    Form::ALL.into_iter().find_map(|form| {
        let (name, digits) = file.strip_suffix(form.extension())?.rsplit_once('_')?;
        let step = digits.parse().ok()?;
        let ours = file_name(name, step, form) == file;
        (ours && !name.is_empty() && !name.starts_with('.')).then_some((name, step, form))
    })
}

/// The checkpoints in `dir`, by ascending step; of one step the full one last.
pub fn in_dir(dir: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        found.extend(Found::at(&entry?.path()));
    }
    found.sort_by(|a, b| (a.step, &a.name, b.form).cmp(&(b.step, &b.name, a.form)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_made() {
        for (name, step) in [("run", 0), ("a_b", 99_999_999), ("x.y-z", 123_456_789_012)] {
            for form in Form::ALL {
                let file = file_name(name, step, form);
                assert_eq!(parse(&file), Some((name, step, form)));
            }
        }
        for other in [
            "run_1.vtkhdf",
            "_00000001.vtkhdf",
            "run_00000001.hdf",
            "run.vtkhdf",
            "r_+0000001.vtkhdf",
            "run_00000001.increments.h5",
            "run_1.h5",
            "run_1.increment.h5",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn files_come_by_step_the_full_one_of_a_step_last() {
        let dir = tempfile::tempdir().unwrap();
        let names = [
            "a_00000002.vtkhdf",
            "a_00000002.increment.h5",
            "a_00000001.h5",
        ];
        names
            .iter()
            .for_each(|n| std::fs::write(dir.path().join(n), "").unwrap());
        let found = in_dir(dir.path()).unwrap();
        let order: Vec<_> = found.iter().map(|f| (f.step, f.form)).collect();
        assert_eq!(
            order,
            [
                (1, Form::Full(Layout::OpenPmd)),
                (2, Form::Increment),
                (2, Form::Full(Layout::VtkHdf))
            ]
        );
    }
}
