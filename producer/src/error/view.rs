//! The reasons why memory cannot be viewed.

use std::io;
use tcasm_core::field::ArrayError;
use thiserror::Error;

/// The reason why memory could not be viewed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// One call asked for the same buffer twice.
    #[error(
        "the same buffer was asked for twice at once; each view must be the only one of its memory"
    )]
    Twice,
    /// The handle belongs to another producer.
    #[error("the handle belongs to another producer")]
    Foreign,
    /// This process is a forked child of the producer.
    #[error("this process is a fork of the producer: the region belongs to the parent")]
    Forked,
    /// The buffer was handed over, and its next rewriting has not begun.
    #[error(
        "this buffer was handed over to a version, and can only be read until rewrite() begins \
         its next rewriting"
    )]
    Frozen,
    /// The buffer was an adopted array that was released or lost.
    #[error(
        "this buffer was an adopted array, and was released or lost; adopt the array again, or use \
         the program's own pointer"
    )]
    Gone,
    /// The region has no field of this name.
    #[error("there is no field {name:?}; add it first")]
    NoField {
        /// Name that was asked for.
        name: String,
    },
    /// The buffer could not get other pages.
    #[error("cannot map other pages for a rewriting: {0}; the buffer is as it was")]
    Rewrite(io::Error),
    /// The field cannot be viewed as such an array.
    #[error(transparent)]
    Array(#[from] ArrayError),
}
