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
    /// The place of a mesh in a block-structured mesh cannot be used.
    #[error("mesh {mesh:?} cannot be a block of {of:?}: {why}")]
    Block {
        /// The name of the mesh.
        mesh: String,
        /// The name of the block-structured mesh.
        of: String,
        /// The reason.
        why: String,
    },
    /// Two meshes, or a mesh and a field, have the same name.
    #[error("{0:?} is the name of two meshes, or of a mesh and a field; choose another")]
    Twice(String),
    /// A field names a mesh that there is not.
    #[error(
        "field {field:?} is on mesh {mesh:?}, which the table does not have; it is damaged or from \
         another program"
    )]
    NoMesh {
        /// The name of the field.
        field: String,
        /// The name of the mesh.
        mesh: String,
    },
    /// A mesh names a field that there is not, or one without dimensions.
    #[error(
        "the geometry of mesh {mesh:?} needs a field {field:?} with at least one dimension; add \
         the field before the mesh"
    )]
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
    /// A mesh has a number of points, cells or coordinates that it cannot have.
    #[error("mesh {mesh:?}: {why}")]
    Points {
        /// The name of the mesh.
        mesh: String,
        /// The reason.
        why: String,
    },
    /// The shape of a field does not agree with the size of its mesh.
    #[error(
        "field {field:?} has shape {have:?} (slowest axis first, without ghost layers and \
         components), but mesh {mesh:?} has {need:?} {at}; give it {}, and variable() if the size \
         of the mesh changes",
        shapes(need)
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

/// Returns the shape that a field with these extents, slowest axis first, has in each order.
fn shapes(extents: &[usize]) -> String {
    let reversed: Vec<usize> = extents.iter().rev().copied().collect();
    match extents.len() {
        0 | 1 => format!("{extents:?}"),
        _ => format!("{extents:?} in C order or {reversed:?} in Fortran order"),
    }
}
