//! Programs that run as separate processes during a measurement. They must be in the folder of the
//! program that measures.

use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

/// The reason why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program at this path was not built.
    #[error(
        "{0:?} does not exist, but this bench needs it; build it with: cargo build --release \
         -p tcasm -p tcasm-benches"
    )]
    Missing(PathBuf),
    /// Other users may not run the program at this path.
    #[error(
        "an ordinary user may not run {0:?}; let all users enter its folders (chmod o+x) and run \
         it (chmod o+rx), build elsewhere (CARGO_TARGET_DIR), or measure with --user root"
    )]
    Closed(PathBuf),
    /// The program could not be started, or its output or status could not be read.
    #[error("{program}: {source}")]
    Io {
        /// The name of the program.
        program: &'static str,
        /// The error of the system call.
        source: io::Error,
    },
    /// The program ended with an error. It has printed its own message.
    #[error("{program} ended with {status}")]
    Failed {
        /// The name of the program.
        program: &'static str,
        /// The exit status.
        status: ExitStatus,
    },
}

/// Returns the exit code for `main`. Prints the message of an error.
pub fn outcome(result: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the folder of the running program.
pub fn folder() -> PathBuf {
    let mut path = std::env::current_exe().unwrap_or_default();
    path.pop();
    path
}

/// Returns the path of the program `name`.
pub fn find(name: &str) -> Result<PathBuf, ProgramError> {
    let path = folder().join(name);
    match path.is_file() {
        true => Ok(path),
        false => Err(ProgramError::Missing(path)),
    }
}

/// A running program. It is killed if this value is dropped before the program ends.
#[derive(Debug)]
pub struct Program {
    name: &'static str,
    child: Child,
}

impl Program {
    /// Starts `name`. [`Program::finish`] returns its standard output. Its standard error is that
    /// of this process.
    pub fn start(name: &'static str, args: &[&str]) -> Result<Self, ProgramError> {
        let mut command = Command::new(find(name)?);
        command.args(args);
        Program::run(name, command)
    }

    /// Starts a command of any folder in the same way. `name` is used in messages.
    pub fn run(name: &'static str, mut command: Command) -> Result<Self, ProgramError> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let program = name;
        let child = child.map_err(|source| ProgramError::Io { program, source })?;
        Ok(Program { name, child })
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Reads the output line by line until `wanted` returns a value for a line. Returns none if the
    /// program ends before.
    pub fn wait_for<T>(&mut self, wanted: impl Fn(&str) -> Option<T>) -> Option<T> {
        // Bytes are read one by one, because `finish` must return all that follows the line.
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

    /// Waits for the end of the program. Returns its remaining output.
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
        // Both calls do nothing if the program has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
