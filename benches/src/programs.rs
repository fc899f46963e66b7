//! Programs that run beside what is measured, as processes of their own. They lie in the folder of the one that measures.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

/// Why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It was not built.
    #[error(
        "there is no {0:?}, which this measures with; build it: cargo build --release -p tcasm -p tcasm-benches"
    )]
    Missing(PathBuf),
    /// It did not start, or was lost.
    #[error("{program}: {source}")]
    Io {
        /// Which.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It ended with an error, which it has told.
    #[error("{program} ended with {status}")]
    Failed {
        /// Which.
        program: &'static str,
        /// How.
        status: ExitStatus,
    },
}

/// What `main` returns; an error is told as a sentence.
pub fn outcome(result: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the program that runs.
pub fn folder() -> PathBuf {
    let mut path = std::env::current_exe().unwrap_or_default();
    path.pop();
    path
}

/// Where the program `name` is.
pub fn find(name: &str) -> Result<PathBuf, ProgramError> {
    let path = folder().join(name);
    match path.is_file() {
        true => Ok(path),
        false => Err(ProgramError::Missing(path)),
    }
}

/// A program that runs. Dropped before its end, it is killed.
#[derive(Debug)]
pub struct Program {
    name: &'static str,
    child: Child,
}

impl Program {
    /// Start `name`. What it prints can be had when it has ended; its complaints go where ours go.
    pub fn start(name: &'static str, args: &[&str]) -> Result<Self, ProgramError> {
        let mut command = Command::new(find(name)?);
        command.args(args);
        Program::run(name, command)
    }

    /// The same for a program that lies elsewhere.
    pub fn run(name: &'static str, mut command: Command) -> Result<Self, ProgramError> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let program = name;
        let child = child.map_err(|source| ProgramError::Io { program, source })?;
        Ok(Program { name, child })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Read what it prints up to a line that `wanted` takes something from; none if it ends before.
    pub fn hear<T>(&mut self, wanted: impl Fn(&str) -> Option<T>) -> Option<T> {
        // Byte by byte, so that nothing is read that `finish` returns.
        let out = self.child.stdout.as_mut()?;
        let mut line = Vec::new();
        let mut byte = [0];
        while matches!(io::Read::read(out, &mut byte), Ok(1)) {
            line.push(byte[0]);
            if byte == *b"\n" {
                let found = wanted(&String::from_utf8_lossy(&line));
                if found.is_some() {
                    return found;
                }
                line.clear();
            }
        }
        None
    }

    /// Wait for its end; what it has printed.
    pub fn finish(mut self) -> Result<String, ProgramError> {
        let mut text = String::new();
        let read = match self.child.stdout.take() {
            Some(mut out) => io::Read::read_to_string(&mut out, &mut text),
            None => Ok(0),
        };
        read.map_err(|source| self.io(source))?;
        let waited = self.child.wait();
        let (program, status) = (self.name, waited.map_err(|source| self.io(source))?);
        match status.success() {
            true => Ok(text),
            false => Err(ProgramError::Failed { program, status }),
        }
    }

    fn io(&self, source: io::Error) -> ProgramError {
        let program = self.name;
        ProgramError::Io { program, source }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both do nothing where it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
