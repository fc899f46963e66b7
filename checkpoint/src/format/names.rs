//! The names of checkpoint files: `<name>_<step>.vtkhdf`, as openPMD `<name>_<step>.h5`, and for
//! increments `<name>_<step>.increment.h5`.

use crate::options::Layout;
use std::io;
use std::path::{Path, PathBuf};

/// The kind of a checkpoint file, as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// All fields.
    Full(Layout),
    /// The changes since another checkpoint.
    Increment,
}

impl Form {
    /// The forms that the checkpoint of a step can have.
    pub const ALL: [Form; 3] = [
        Form::Full(Layout::VtkHdf),
        Form::Full(Layout::OpenPmd),
        Form::Increment,
    ];

    /// Returns the end of the file name.
    fn extension(self) -> &'static str {
        match self {
            Form::Full(Layout::VtkHdf) => ".vtkhdf",
            Form::Full(Layout::OpenPmd) => ".h5",
            Form::Increment => ".increment.h5",
        }
    }
}

/// A file with the name of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name that the checkpoints of a run have in common.
    pub name: String,
    /// The step in the file's name.
    pub step: u64,
    /// The kind of the file.
    pub form: Form,
    /// The path of the file.
    pub path: PathBuf,
}

impl Found {
    /// Returns what the name of `path` says, or `None` if it is not that of a checkpoint.
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

/// Returns true if checkpoints can have this name.
pub fn usable(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=128).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(allowed)
}

/// Returns the file name of the checkpoint of `step`.
pub fn file_name(name: &str, step: u64, form: Form) -> String {
    format!("{name}_{step:08}{}", form.extension())
}

/// Returns the name, the step and the form in a file name that [`file_name`] made, and `None` for
/// other names.
pub fn parse(file: &str) -> Option<(&str, u64, Form)> {
    Form::ALL.into_iter().find_map(|form| {
        let (name, digits) = file.strip_suffix(form.extension())?.rsplit_once('_')?;
        let step = digits.parse().ok()?;
        let ours = file_name(name, step, form) == file;
        (ours && !name.is_empty() && !name.starts_with('.')).then_some((name, step, form))
    })
}

/// Returns the checkpoint files in `dir` in ascending order of steps. Of a step, the full one comes
/// last.
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
    fn file_names_are_parsed_as_they_were_made() {
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
    fn files_are_sorted_by_step_with_the_full_one_last() {
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
