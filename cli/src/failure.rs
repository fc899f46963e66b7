//! The errors that end the command, each with an exit status that scripts can check.

use std::io;
use std::path::Path;
use tcasm_analytics::dynamic::AnalyticsError;
use tcasm_core::field::ArrayError;
use tcasm_core::format::index::IndexError;
use tcasm_observer::{
    AttachError, GlobalArrayError, GroupError, ObserveError, ReadError, ViewError,
};
use tcasm_restart::RestoreError;

/// The exit statuses. `--help` explains them to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
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
    #[cfg(feature = "files")]
    OtherRun = 11,
    Interrupted = 130,
    /// The reader of the output has closed the pipe: the status that shells show for SIGPIPE.
    ClosedPipe = 141,
}

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

    /// Returns the failure of a command that would replace the file at `path`, but has the option
    /// `--force` for that.
    pub fn exists(path: &Path) -> Self {
        Failure::new(
            Code::Io,
            format!(
                "{path:?} exists already and is not replaced; choose another name, or move it \
                 away, or replace it with --force"
            ),
        )
    }
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

impl From<GroupError> for Failure {
    fn from(error: GroupError) -> Self {
        use GroupError::*;
        let code = match error {
            Attach(error) => return error.into(),
            Name(_) => Code::Usage,
            NotFound { .. } => Code::NoRegion,
            Lost { .. } => Code::Lost,
            Folder { .. } => Code::Io,
            Absent { .. } | NotReady { .. } | EndOfStream { .. } | OtherRun { .. } => {
                Code::NoVersion
            }
            NoAgent { .. } | NotAgreed { .. } | AgentGone { .. } | AgreedGone { .. } => {
                Code::NoVersion
            }
            _ => Code::Other,
        };
        Failure::new(code, error.to_string())
    }
}

impl From<GlobalArrayError> for Failure {
    fn from(error: GlobalArrayError) -> Self {
        use GlobalArrayError::*;
        let code = match &error {
            NoField { .. } => Code::NoField,
            Local { .. } | Range { .. } | Array(_) => Code::Usage,
            Missing { .. } => Code::NoVersion,
            Memory { .. } | View { .. } => Code::Io,
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
            ViewError::TooManyMappings { .. } | ViewError::CopyMemory { .. } => Code::Io,
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

impl From<RestoreError> for Failure {
    /// Converts an error of versions in memory. (Commands read files themselves, so there is no
    /// `RestoreError::File`.)
    fn from(error: RestoreError) -> Self {
        let code = match error {
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
    /// Converts an error of standard output. If the reader has closed the pipe (`| head`), the
    /// command ends without a message.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::new(Code::ClosedPipe, "");
        }
        Failure::new(Code::Io, format!("cannot write the output: {error}"))
    }
}
