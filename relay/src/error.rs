//! The reasons why a step cannot be relayed.

use tcasm_core::field::TableError;
use tcasm_core::format::index::IndexError;
use tcasm_observer::ReadError;
use tcasm_producer::{CreateError, DefineError, PublishError, ViewError};
use thiserror::Error;

/// Why a message cannot be made or understood, or a mirror cannot show a step.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RelayError {
    /// A message cannot be understood.
    #[error(transparent)]
    Message(#[from] BadMessage),
    /// A mirror region cannot show the step.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
    /// The version cannot be read.
    #[error("the version cannot be read: {0}")]
    Index(#[from] IndexError),
    /// A field of the version cannot be read.
    #[error("the version cannot be read: {0}")]
    Read(#[from] ReadError),
    /// A message is of a region that has not begun.
    #[error("a message of region number {number} has come before its first one")]
    NotBegun {
        /// The number of the region.
        number: u32,
    },
}

/// Why a message cannot be understood.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadMessage {
    /// It is too short, or of no known kind.
    #[error("a message of {bytes} bytes of the other side cannot be understood")]
    Shape {
        /// Its bytes.
        bytes: usize,
    },
    /// Its head cannot be read.
    #[error("the head of a message of the other side cannot be read: {0}")]
    Head(#[from] serde_json::Error),
    /// Its field table cannot be read.
    #[error("a message of the other side: {0}")]
    Table(#[from] TableError),
}

/// Why a mirror region cannot show a step.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// The region cannot be created.
    #[error("cannot create the mirror region {name:?}: {source}")]
    Create {
        /// The name of the region.
        name: String,
        /// The error.
        source: Box<CreateError>,
    },
    /// A field or a mesh cannot be added.
    #[error("the mirror region {name:?}: {source}")]
    Define {
        /// The name of the region.
        name: String,
        /// The error.
        source: Box<DefineError>,
    },
    /// A message is of another region than the mirror, or of other fields.
    #[error(
        "the mirror region {name:?} cannot show region {found:?}, or the fields that it has now"
    )]
    Other {
        /// The name of the mirror.
        name: String,
        /// The region in the message.
        found: String,
    },
    /// A field cannot be written.
    #[error("the mirror region: {0}")]
    View(#[from] ViewError),
    /// A step cannot be published.
    #[error("the mirror region: {0}")]
    Publish(#[from] PublishError),
    /// A part does not lie in its field.
    #[error("region {name:?}: {length} bytes from byte {start} are not in field {field}")]
    Outside {
        /// The name of the region.
        name: String,
        /// The number of the field.
        field: u32,
        /// The first byte.
        start: u64,
        /// The number of bytes.
        length: usize,
    },
}
