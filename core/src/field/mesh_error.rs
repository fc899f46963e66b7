//! The reasons why meshes cannot be used.

use super::mesh::MeshError;
use thiserror::Error;

/// The reason why a mesh, or a field on it, cannot be used.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum MeshDescError {
    /// The name is not a valid one.
    #[error("mesh name {0:?} is not usable: use 1 to 128 characters out of A-Z a-z 0-9 _ -")]
    Name(String),
    /// The place of a mesh among the blocks of a whole cannot be used.
    #[error("mesh {mesh:?} cannot be a block of {of:?}: {why}")]
    Block {
        /// The name of the mesh.
        mesh: String,
        /// The name of the whole.
        of: String,
        /// The reason.
        why: String,
    },
    /// Two meshes, or a mesh and a field, have the same name.
    #[error("{0:?} is the name of two meshes, or of a mesh and a field; choose another")]
    Twice(String),
    /// A field names a mesh that there is not.
    #[error("field {field:?} is on mesh {mesh:?}, which the region does not have")]
    NoMesh {
        /// The name of the field.
        field: String,
        /// The name of the mesh.
        mesh: String,
    },
    /// A mesh names a field that there is not.
    #[error("mesh {mesh:?} has the geometry {field:?}, which is not a field of the region")]
    NoField {
        /// The name of the mesh.
        mesh: String,
        /// The name of the field.
        field: String,
    },
    /// Two fields on one mesh are the same quantity at the same places.
    #[error(
        "fields {fields:?} on mesh {mesh:?} are both its quantity {quantity:?}, at the same \
         places; give one of them another quantity"
    )]
    Quantity {
        /// The name of the mesh.
        mesh: String,
        /// The quantity.
        quantity: String,
        /// The names of the fields.
        fields: [String; 2],
    },
    /// A field cannot be the geometry for which a mesh has it.
    #[error("field {field:?} cannot be the {part} of mesh {mesh:?}: {need}")]
    Geometry {
        /// The name of the mesh.
        mesh: String,
        /// The name of the field.
        field: String,
        /// The part of the geometry.
        part: &'static str,
        /// The requirement that the field does not meet.
        need: String,
    },
    /// A uniform mesh has an origin or a spacing that cannot be used.
    #[error("mesh {mesh:?}: {source}")]
    Uniform {
        /// The name of the mesh.
        mesh: String,
        /// The reason.
        source: MeshError,
    },
    /// A mesh has the wrong number of points or coordinates.
    #[error("mesh {mesh:?}: {why}")]
    Points {
        /// The name of the mesh.
        mesh: String,
        /// The reason.
        why: String,
    },
    /// The shape of a field does not agree with the size of its mesh.
    #[error(
        "field {field:?} has shape {have:?} (slowest axis first, without ghost layers), but mesh \
         {mesh:?} has {need:?} {at}"
    )]
    Shape {
        /// The name of the field.
        field: String,
        /// The name of the mesh.
        mesh: String,
        /// The extents of the field.
        have: Vec<usize>,
        /// The extents of the mesh.
        need: Vec<usize>,
        /// `points` or `cells`.
        at: &'static str,
    },
}
