//! The reasons why a mesh cannot be shown.

use thiserror::Error;

/// The reason why a mesh, or a field on it, cannot be shown in space.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MeshError {
    /// A field cannot be read.
    #[error("{0}")]
    Field(String),
    /// The field has no place on a mesh of points.
    #[error(
        "field {0:?} is not on the points or cells of particles or of an unstructured mesh; \
         ask for a slice"
    )]
    NoScene(String),
    /// The field lacks the component.
    #[error("component {component} of field {field:?} was asked for; there are {components}")]
    Component {
        /// The name of the field.
        field: String,
        /// The component that was asked for.
        component: usize,
        /// Number of components.
        components: usize,
    },
    /// A field and its mesh have different numbers of points or cells.
    #[error(
        "field {field:?} has {have} values, but its mesh needs {need}; the table is damaged or \
         from another program"
    )]
    Count {
        /// The name of the field.
        field: String,
        /// Number of values.
        have: usize,
        /// The number that the mesh has.
        need: usize,
    },
    /// A cell has a point that there is not.
    #[error(
        "cell {cell} of mesh {mesh:?} has the point {point}; there are {points}, from 0; check the \
         connectivity"
    )]
    Point {
        /// The name of the mesh.
        mesh: String,
        /// Number of the cell.
        cell: usize,
        /// Number of the point, as the field has it.
        point: i128,
        /// Number of points of the mesh.
        points: usize,
    },
    /// The offsets of a cell are not in the connectivity, or decrease.
    #[error(
        "cell {cell} of mesh {mesh:?} begins at {begin} and ends at {end} of a connectivity of \
         {length} values"
    )]
    Offsets {
        /// The name of the mesh.
        mesh: String,
        /// Number of the cell.
        cell: usize,
        /// The offset of the cell.
        begin: i128,
        /// The offset of the next cell.
        end: i128,
        /// Length of the connectivity.
        length: usize,
    },
    /// A cell has a type that is not supported.
    #[error("cell {cell} of mesh {mesh:?} has VTK's type {number}, which is not supported")]
    Type {
        /// The name of the mesh.
        mesh: String,
        /// Number of the cell.
        cell: usize,
        /// VTK's number of the type.
        number: u8,
    },
    /// A cell has another number of points than its type.
    #[error(
        "cell {cell} of mesh {mesh:?} has {have} points, but VTK's type {number} has {need}; check \
         the offsets and the types"
    )]
    CellSize {
        /// The name of the mesh.
        mesh: String,
        /// Number of the cell.
        cell: usize,
        /// VTK's number of the type.
        number: u8,
        /// Number of points that the cell has.
        have: usize,
        /// Number of points that cells of the type have.
        need: usize,
    },
    /// The mesh has too many points or cells for a surface.
    #[error(
        "mesh {mesh:?} has {points} points and {cells} cells; a surface is shown of at most \
         {most} cells and {most_points} points; look at its points, or divide it"
    )]
    TooLarge {
        /// The name of the mesh.
        mesh: String,
        /// Number of points.
        points: usize,
        /// Number of cells.
        cells: usize,
        /// Maximum number of cells.
        most: usize,
        /// Maximum number of points.
        most_points: usize,
    },
    /// Too many faces meet at a point.
    #[error(
        "{faces} faces of mesh {mesh:?} have point {point} as their lowest corner; at most {most} \
         are compared; check the connectivity"
    )]
    FacesAtPoint {
        /// The name of the mesh.
        mesh: String,
        /// Number of the point.
        point: usize,
        /// Number of faces.
        faces: usize,
        /// The greatest number that is compared.
        most: usize,
    },
    /// The surface has too many triangles, and no coarser one shows it.
    #[error(
        "the surface of mesh {mesh:?} has {triangles} triangles, and its pieces are too small for \
         one of at most {most}; ask for more triangles, or for points"
    )]
    Triangles {
        /// The name of the mesh.
        mesh: String,
        /// Number of triangles of the surface.
        triangles: usize,
        /// Maximum number of triangles.
        most: usize,
    },
    /// The mesh has no cell with a surface.
    #[error(
        "no cell of mesh {0:?} has a surface; give it cells of two or three dimensions, or look at \
         its points"
    )]
    NoSurface(String),
}
