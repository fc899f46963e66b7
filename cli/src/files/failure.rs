//! Errors of reading and writing files, with their exit statuses.

use crate::failure::{Code, Failure};
use tcasm_checkpoint::{ReadError, WriteError};

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let code = match &error {
            WriteError::Bytes { .. } | WriteError::Table(_) => Code::Other,
            WriteError::Cells { .. } => Code::Other,
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

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        use ReadError::*;
        let code = match &error {
            NoField { .. } => Code::NoField,
            NoStep { .. } | NoName { .. } | NoneFound(_) => Code::NoVersion,
            TooNew { .. } => Code::OtherLayout,
            SeveralNames { .. } | Lossy { .. } => Code::Usage,
            _ => Code::Io,
        };
        Failure::new(code, error.to_string())
    }
}
