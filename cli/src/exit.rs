//! How the command ends. Every error is printed as `tcasm: what happened; what to do`, and has an
//! exit status that scripts can check.

use crate::{output, plain};
use std::io::{self, Write};
use std::process::ExitCode;
use tcasm_analytics::dynamic::AnalyticsError;
use tcasm_checkpoint::WriteError;
use tcasm_core::field::ArrayError;
use tcasm_core::index::IndexError;
use tcasm_observer::{AttachError, ObserveError, ReadError, ViewError};
use tcasm_restart::RestoreError;

/// The exit statuses. [`TABLE`] explains them to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// No error. Also used if the reader of our output closed the pipe.
    Ok = 0,
    Other = 1,
    Usage = 2,
    NoRegion = 3,
    Lost = 4,
    NotAllowed = 5,
    OtherLayout = 6,
    NoField = 7,
    NoVersion = 8,
    Io = 9,
    NoAnswer = 10,
    OtherRun = 11,
    Interrupted = 130,
}

/// The exit statuses and environment variables, as `--help` prints them.
pub const TABLE: &str = "\
Exit status:
    0  success
    1  any error that is not listed here
    2  the command line is wrong
    3  there is no such region
    4  the producer is dead, or died during the command
    5  this user may not attach, another user owns the producer, or the lease was revoked
    6  the producer uses another layout version
    7  there is no such field
    8  there is no such version, or none is published yet
    9  input or output failed: the folder does not exist, no space is left, or access is denied
   10  the producer cannot take another observer, or does not answer
   11  the checkpoints or time series belong to another run or have later steps, or another program
       writes them
  130  interrupted

Environment:
  TCASM_RUNTIME_DIR  the folder of the regions [$XDG_RUNTIME_DIR/tcasm, else /tmp/tcasm-<uid>]
  TCASM_TRACKER      the tracker of writes that producers use: uffd-async, cow, compare, auto
  TCASM_LOG          the level of the log on standard error: error, warn, info, debug, trace
  NO_COLOR           if set, do not use colours";

/// An error that ends the command: the exit status and the message.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    pub message: String,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Failure { code, message }
    }
}

/// Prints the failure, if there is one, and returns the exit status.
pub fn report(result: Result<(), Failure>) -> ExitCode {
    let Err(failure) = result else {
        return ExitCode::SUCCESS;
    };
    if !failure.message.is_empty() {
        output::note(&failure.message);
    }
    ExitCode::from(failure.code as u8)
}

/// Prints what is wrong with the command line, or the help or version that was requested.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    let text = plain::lines(&text);
    let _ = match text.strip_prefix("error: ") {
        Some(what) => write!(io::stderr(), "tcasm: {what}"),
        None => write!(io::stderr(), "{text}"),
    };
    ExitCode::from(Code::Usage as u8)
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Self {
        use AttachError::*;
        let code = match &error {
            Name(_) => Code::Usage,
            NotFound { .. } => Code::NoRegion,
            Dead { .. } | Ended { .. } => Code::Lost,
            NotAllowed { .. } | OtherUser { .. } => Code::NotAllowed,
            OtherLayout { .. } => Code::OtherLayout,
            Full { .. } | Failed { .. } | NoAnswer { .. } => Code::NoAnswer,
            NoDescriptors { .. } | Map(_) | Os { .. } => Code::Io,
            _ => Code::Other,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<ObserveError> for Failure {
    fn from(error: ObserveError) -> Self {
        use ObserveError::*;
        let code = match &error {
            NotReady | EndOfStream | Gone { .. } => Code::NoVersion,
            ProducerLost => Code::Lost,
            Revoked => Code::NotAllowed,
            _ => Code::Other,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        let code = match &error {
            ViewError::NoField { .. } => Code::NoField,
            ViewError::Map(_) | ViewError::Base(_) | ViewError::Read(_) => Code::Io,
            _ => Code::Other,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let code = match &error {
            ReadError::NoField { .. } => Code::NoField,
            ReadError::Io(_) => Code::Io,
            _ => Code::Other,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<AnalyticsError> for Failure {
    fn from(error: AnalyticsError) -> Self {
        let code = match &error {
            // The arguments do not fit the field.
            AnalyticsError::Histogram { .. }
            | AnalyticsError::Slice { .. }
            | AnalyticsError::Blocks { .. } => Code::Usage,
            AnalyticsError::Array(ArrayError::NotAnArray { .. }) => Code::Usage,
            _ => Code::Other,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let code = match &error {
            WriteError::Bytes { .. } | WriteError::Table(_) => Code::Other,
            WriteError::Name(_) | WriteError::SameFolder(..) => Code::Usage,
            WriteError::SeriesName(_) => Code::Usage,
            WriteError::OtherRun { .. } | WriteError::Busy { .. } => Code::OtherRun,
            WriteError::NotSeries { .. } | WriteError::OtherSeries { .. } => Code::OtherRun,
            WriteError::LeftRows { .. } | WriteError::Earlier { .. } => Code::OtherRun,
            WriteError::Before { .. } | WriteError::Backwards { .. } => Code::OtherRun,
            _ => Code::Io,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<tcasm_checkpoint::ReadError> for Failure {
    fn from(error: tcasm_checkpoint::ReadError) -> Self {
        use tcasm_checkpoint::ReadError::*;
        let code = match &error {
            NoField { .. } => Code::NoField,
            NoStep { .. } | NoneFound(_) => Code::NoVersion,
            TooNew { .. } => Code::OtherLayout,
            SeveralNames { .. } => Code::Usage,
            _ => Code::Io,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<RestoreError> for Failure {
    fn from(error: RestoreError) -> Self {
        let code = match error {
            RestoreError::File(error) => return error.into(),
            RestoreError::Attach(error) => return error.into(),
            RestoreError::Observe(error) => return error.into(),
            RestoreError::Name(_) => Code::Usage,
            RestoreError::NotKept { .. } => Code::NoRegion,
            RestoreError::NothingKept(_) | RestoreError::Runs { .. } => Code::NoVersion,
            _ => Code::Other,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        Failure::new(Code::Other, error.to_string())
    }
}

impl From<io::Error> for Failure {
    /// Converts an error of standard output. If the reader closed the pipe (`| head`), this is no
    /// error.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::new(Code::Ok, "");
        }
        Failure::new(Code::Io, format!("cannot write the output: {error}"))
    }
}
