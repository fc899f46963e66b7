//! The reasons why fields cannot be used.

use super::global::GlobalError;
use super::mesh::MeshError;
use thiserror::Error;

/// The reason why the description of a field cannot be used.
#[derive(Debug, Error, PartialEq, Clone)]
#[non_exhaustive]
pub enum FieldError {
    /// The name is not a valid one.
    #[error("field name {0:?} is not usable: use 1 to 128 characters out of A-Z a-z 0-9 _ -")]
    Name(String),
    /// The name of the quantity is not a valid one.
    #[error(
        "field {name:?} cannot be the quantity {quantity:?}: use 1 to 128 characters out of A-Z \
         a-z 0-9 _ -"
    )]
    Quantity {
        /// The name of the field.
        name: String,
        /// The quantity.
        quantity: String,
    },
    /// The field has no values, and room for none.
    #[error("field {name:?} has zero size: shape {shape:?} with {components} component(s)")]
    Empty {
        /// The name of the field.
        name: String,
        /// The shape of the field.
        shape: Vec<usize>,
        /// The components per point.
        components: usize,
    },
    /// The field has too many dimensions.
    #[error("field {name:?} has {dims} dimensions; at most {max} are supported")]
    TooManyDims {
        /// The name of the field.
        name: String,
        /// The number of dimensions of the field.
        dims: usize,
        /// The largest number of dimensions.
        max: usize,
    },
    /// The number of ghost layers does not match the number of dimensions.
    #[error(
        "field {name:?}: {ghosts} pairs of ghost layers were given for {dims} dimensions; give \
         one pair each"
    )]
    GhostDims {
        /// The name of the field.
        name: String,
        /// The number of pairs of ghost layers.
        ghosts: usize,
        /// The number of dimensions.
        dims: usize,
    },
    /// The field has no values besides its ghost layers.
    #[error("field {name:?}: ghost layers {ghosts:?} leave nothing of shape {shape:?}")]
    GhostSize {
        /// The name of the field.
        name: String,
        /// The ghost layers.
        ghosts: Vec<[usize; 2]>,
        /// The shape of the field.
        shape: Vec<usize>,
    },
    /// The field is too large.
    #[error("field {name:?} of shape {shape:?} is larger than the address space")]
    Overflow {
        /// The name of the field.
        name: String,
        /// The shape of the field.
        shape: Vec<usize>,
    },
    /// The mesh of the field cannot be used.
    #[error("field {name:?}: {source}")]
    Mesh {
        /// The name of the field.
        name: String,
        /// The reason.
        source: MeshError,
    },
    /// The field cannot be such a block of a global array.
    #[error("field {name:?} cannot be a block of a global array: {source}")]
    Global {
        /// The name of the field.
        name: String,
        /// The reason.
        source: GlobalError,
    },
    /// The length of the field is not within its capacity, or its slowest axis cannot have one.
    #[error("field {name:?} of shape {shape:?} cannot have the capacity {capacity}: {why}")]
    Capacity {
        /// The name of the field.
        name: String,
        /// The shape of the field.
        shape: Vec<usize>,
        /// The capacity.
        capacity: usize,
        /// The reason.
        why: &'static str,
    },
    /// The field does not lie in its region.
    #[error(
        "field {name:?} at offset {offset} with {bytes} bytes leaves its region of {region} bytes"
    )]
    OutOfRegion {
        /// The name of the field.
        name: String,
        /// The offset of the field in the region.
        offset: u64,
        /// The size of the field in bytes.
        bytes: u64,
        /// The size of the region in bytes.
        region: u64,
    },
}
