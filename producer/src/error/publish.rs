//! The reasons why versions cannot be published, or rolled back to.

use super::DefineError;
use std::io;
use tcasm_core::field::MeshDescError;
use tcasm_core::format::index::IndexError;
use thiserror::Error;

/// The reason why `publish` failed. (A version that is skipped is no failure: see
/// [`crate::Receipt`].)
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The region is closed.
    #[error("the region is closed: nothing can be published after close()")]
    Closed,
    /// This process is a forked child of the producer.
    #[error("this process is a fork of the producer: the region belongs to the parent")]
    Forked,
    /// The field table could not be encoded.
    #[error(transparent)]
    Table(#[from] DefineError),
    /// The index could not be written.
    #[error("the index cannot be written: {0}")]
    Index(#[from] IndexError),
}

/// The reason why the fields could not be rolled back to a version. Except for
/// [`RollbackError::Incomplete`], nothing has changed: versions, bindings and the bytes of all
/// fields are as they were.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RollbackError {
    /// The region is closed.
    #[error("the region is closed: nothing can be rolled back after close()")]
    Closed,
    /// This process is a forked child of the producer.
    #[error("this process is a fork of the producer: the region belongs to the parent")]
    Forked,
    /// The version was not published yet.
    #[error(
        "version {version} was not published yet{}; roll back to one that was",
        newest.map_or(String::new(), |n| format!(": the newest is {n}"))
    )]
    NotYet {
        /// Number that was asked for.
        version: u64,
        /// Number of the newest version.
        newest: Option<u64>,
    },
    /// The version was reclaimed.
    #[error(
        "version {version} is not there any more, of {available:?} that are; keep more with \
         history(), or let an observer hold it"
    )]
    Gone {
        /// Number that was asked for.
        version: u64,
        /// Numbers of the versions that exist.
        available: Vec<u64>,
    },
    /// Fields were added after the version.
    #[error(
        "version {version} has no field {fields:?}: fields that were added after it cannot be \
         rolled back to it; choose a newer version"
    )]
    NewFields {
        /// Number that was asked for.
        version: u64,
        /// Names of the fields that it lacks.
        fields: Vec<String>,
    },
    /// A field has another type or shape than in the version.
    #[error("field {field:?} differs from what it is in version {version} in its {what}")]
    Differs {
        /// Number that was asked for.
        version: u64,
        /// Name of the field.
        field: String,
        /// The property that differs.
        what: &'static str,
    },
    /// A mesh was added after the version, and its fields had other lengths then.
    #[error(
        "the lengths of version {version} do not fit a mesh that was added after it: {source}; \
         choose a newer version"
    )]
    Mesh {
        /// Number that was asked for.
        version: u64,
        /// The reason.
        source: MeshDescError,
    },
    /// There is no room for the table with the meshes and lengths of the version.
    #[error(
        "with the meshes and lengths of version {version}, no version could be published: {source}"
    )]
    Table {
        /// Number that was asked for.
        version: u64,
        /// The reason.
        source: Box<DefineError>,
    },
    /// Live memory of a field cannot be read.
    #[error(
        "pages of field {field:?} cannot be read: the program has unmapped or protected them; map \
         them again first"
    )]
    Unmapped {
        /// Name of the field.
        field: String,
    },
    /// The memory of an adopted field was unmapped, moved or replaced.
    #[error(
        "field {field:?} is lost: its memory was unmapped, moved or replaced, or was when version \
         {version} was published; release it, or adopt its new memory, or choose another version"
    )]
    Lost {
        /// Number that was asked for.
        version: u64,
        /// Name of the field.
        field: String,
    },
    /// An adopted array went away while it was restored. Some fields may have their old values, and
    /// some those of the version.
    #[error(
        "an adopted array could not be written: {0}; fields may have old and restored values, so \
         publish, which names the field, then release it and roll back again"
    )]
    Incomplete(io::Error),
    /// Handed-over buffers could not get other pages.
    #[error(
        "cannot map other pages for the handed-over fields {fields:?}: {source}; they are as they \
         were"
    )]
    Rewrite {
        /// Names of the fields.
        fields: Vec<String>,
        /// The error of the system.
        source: io::Error,
    },
    /// The index could not be read.
    #[error("the index cannot be read: {0}")]
    Index(#[from] IndexError),
}
