//! The method ADIOS2. It needs the Python package of ADIOS2. Producer and observers are
//! `adios2/compare.py`, which uses arrays of numpy.

use super::method::{Method, Sink, Source};
use crate::case::Case;
use crate::failure::{Failure, While};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

pub struct Adios2;

const SCRIPT: &str = include_str!("../../adios2/compare.py");

impl Method for Adios2 {
    fn name(&self) -> &'static str {
        "adios2"
    }

    fn modes(&self) -> Vec<String> {
        vec!["sst (python)".to_owned(), "bp5 (python)".to_owned()]
    }

    fn obstacle(&self, _: &Case) -> Option<String> {
        python().is_none().then(|| {
            "no Python with adios2 and numpy was found; run ci/python-env.sh to install them, or \
             set TCASM_COMPARE_PYTHON to the path of a Python that has them"
                .to_owned()
        })
    }

    fn needed_bytes(&self, case: &Case) -> u64 {
        // Memory for marshalled steps, and a copy for each reader.
        case.bytes() as u64 * (8 + 2 * case.observers as u64)
    }

    fn is_slow_to_start(&self) -> bool {
        true
    }

    fn source(&self, _: &Case) -> Result<Box<dyn Source>, Failure> {
        Err(elsewhere())
    }

    fn sink(&self, _: &Case, _: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        Err(elsewhere())
    }

    fn command(&self, case: &Case) -> Result<Command, Failure> {
        let script = case.path("compare.py");
        std::fs::write(&script, SCRIPT).context("writing the script")?;
        let mut command = Command::new(python().unwrap_or(Path::new("python3")));
        command
            .arg(script)
            .arg("produce")
            .arg(case.path("case.json"));
        command
            .arg(std::process::id().to_string())
            .current_dir(&case.dir);
        Ok(command)
    }
}

fn elsewhere() -> Failure {
    Failure::Unavailable("ADIOS2 runs in Python".to_owned())
}

/// Returns a Python that has the packages. Searches for it only once.
fn python() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| candidates().into_iter().find(|python| works(python)));
    found.as_deref()
}

fn candidates() -> Vec<PathBuf> {
    if let Some(python) = std::env::var_os("TCASM_COMPARE_PYTHON") {
        return vec![python.into()];
    }
    // The environment that ci/python-env.sh makes, relative to the root of the repository and to
    // the folder of this crate.
    let mut candidates = vec![
        "target/venv/bin/python".into(),
        "../../target/venv/bin/python".into(),
    ];
    candidates
        .retain_mut(|path: &mut PathBuf| std::path::absolute(&*path).map(|p| *path = p).is_ok());
    candidates.push("python3".into());
    candidates
}

fn works(python: &Path) -> bool {
    let mut command = Command::new(python);
    command
        .args(["-c", "import adios2, numpy"])
        .stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
