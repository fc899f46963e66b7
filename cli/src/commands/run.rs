//! `tcasm run`: starts a program under the preload library, and prints what it has published.

mod child;
mod library;
mod program;
mod summary;

use crate::args::RunArgs;
use crate::failure::{Code, Failure};
use crate::output;
use std::ffi::{OsStr, OsString};
use std::process::{Command, exit};
use tcasm_core::format::report;
use tempfile::TempDir;

/// The status of shells for a program that is not found, and for one that cannot be run.
const NOT_FOUND: i32 = 127;
const CANNOT_RUN: i32 = 126;

/// Runs the program. Ends this process with its status, unless something fails before it starts.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let library = library::find()?;
    let folder = tempfile::Builder::new().prefix("tcasm-run-").tempdir();
    let folder = folder.map_err(|error| {
        let text = format!("cannot make a folder for the report: {error}; set TMPDIR");
        Failure::new(Code::Io, text)
    })?;
    let (name, rest) = args.program.split_first().expect("one is required");
    let mut command = Command::new(name);
    command.args(rest).env(report::FOLDER_ENV, folder.path());
    command.env("LD_PRELOAD", library::joined(&library)?);
    if let Some(patterns) = patterns(&args.regions) {
        command.env("TCASM_PRELOAD", patterns);
    }
    if let Some(file) = &args.description {
        let path = file.canonicalize().map_err(|error| {
            let text = format!("cannot use the description {file:?}: {error}");
            Failure::new(Code::Io, text)
        })?;
        command.env("TCASM_DESCRIPTION", path);
    }
    let status = match child::run(&mut command) {
        Ok(status) => status,
        Err(error) => {
            output::note(&format!("cannot run {name:?}: {error}"));
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            if is_missing { NOT_FOUND } else { CANNOT_RUN }
        }
    };
    if ![NOT_FOUND, CANNOT_RUN].contains(&status) {
        print(&folder, name);
    }
    drop(folder);
    exit(status)
}

/// Returns the patterns of the environment and of the command line, with colons between them.
fn patterns(given: &[OsString]) -> Option<OsString> {
    let known = std::env::var_os("TCASM_PRELOAD").filter(|list| !list.is_empty());
    let all: Vec<OsString> = known.into_iter().chain(given.iter().cloned()).collect();
    (!given.is_empty()).then(|| all.join(OsStr::new(":")))
}

/// Prints what was published, or why nothing was.
fn print(folder: &TempDir, name: &OsStr) {
    match report::read(folder.path()) {
        Err(error) => output::note(&format!("cannot read what was published: {error}")),
        Ok(reports) if reports.is_empty() => {
            let why = program::why_nothing(name);
            output::note(&format!("nothing was published: {why}"));
        }
        Ok(reports) => summary::lines(&reports).iter().for_each(|line| {
            output::note(line);
        }),
    }
}
