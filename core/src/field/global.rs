//! The place of a field in a global array, which several processes have blocks of.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The place of a block in a global array. Ghost layers of the block, and its components, do not
/// count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalPlace {
    /// The extent of the global array along each axis.
    pub shape: Vec<usize>,
    /// The global index of the first value of the block that is no ghost, along each axis.
    pub offset: Vec<usize>,
}

/// The reason why a field cannot be a block of such a global array.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GlobalError {
    /// The shape or the offset has another number of axes than the field.
    #[error(
        "the {what} {given:?} does not have one number for each of its {dims} dimensions; give \
         both global(shape) and at(offset), without components"
    )]
    Dims {
        /// The list that is wrong.
        what: &'static str,
        /// The numbers that were given.
        given: Vec<usize>,
        /// The dimensions of the field.
        dims: usize,
    },
    /// The block is not inside the global array.
    #[error(
        "without ghost layers it has shape {interior:?}, which at offset {offset:?} is not inside \
         a global array of shape {shape:?}"
    )]
    Outside {
        /// The shape of the field without ghost layers.
        interior: Vec<usize>,
        /// The offset that was given.
        offset: Vec<usize>,
        /// The shape of the global array.
        shape: Vec<usize>,
    },
    /// The field has a variable length.
    #[error("its length is variable, and a block of a global array has a fixed shape")]
    Variable,
    /// The global array is too large.
    #[error("a global array of shape {0:?} is larger than the address space")]
    TooLarge(Vec<usize>),
}
