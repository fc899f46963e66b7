//! The types of the cells of unstructured meshes, as VTK numbers them.

use serde::{Deserialize, Serialize};

/// The type of a cell: VTK's number for it (`vtkCellType.h`), which fixes the order of its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CellType(pub u8);

impl CellType {
    /// A single point.
    pub const VERTEX: CellType = CellType(1);
    /// A line between two points.
    pub const LINE: CellType = CellType(3);
    /// A triangle.
    pub const TRIANGLE: CellType = CellType(5);
    /// A quadrilateral.
    pub const QUAD: CellType = CellType(9);
    /// A tetrahedron.
    pub const TETRA: CellType = CellType(10);
    /// A hexahedron.
    pub const HEXAHEDRON: CellType = CellType(12);
    /// A wedge (prism).
    pub const WEDGE: CellType = CellType(13);
    /// A pyramid.
    pub const PYRAMID: CellType = CellType(14);
    /// A line of second order.
    pub const QUADRATIC_EDGE: CellType = CellType(21);
    /// A triangle of second order.
    pub const QUADRATIC_TRIANGLE: CellType = CellType(22);
    /// A quadrilateral of second order.
    pub const QUADRATIC_QUAD: CellType = CellType(23);
    /// A tetrahedron of second order.
    pub const QUADRATIC_TETRA: CellType = CellType(24);
    /// A hexahedron of second order.
    pub const QUADRATIC_HEXAHEDRON: CellType = CellType(25);

    /// Returns how many points such a cell has, or `None` for a type that is not supported.
    pub fn points(self) -> Option<usize> {
        Some(match self {
            Self::VERTEX => 1,
            Self::LINE => 2,
            Self::TRIANGLE | Self::QUADRATIC_EDGE => 3,
            Self::QUAD | Self::TETRA => 4,
            Self::PYRAMID => 5,
            Self::WEDGE | Self::QUADRATIC_TRIANGLE => 6,
            Self::HEXAHEDRON | Self::QUADRATIC_QUAD => 8,
            Self::QUADRATIC_TETRA => 10,
            Self::QUADRATIC_HEXAHEDRON => 20,
            _ => return None,
        })
    }

    /// Returns the number of dimensions of such a cell, 0 to 3, or `None` for a type that is not
    /// supported.
    pub fn dimensions(self) -> Option<usize> {
        Some(match self {
            Self::VERTEX => 0,
            Self::LINE | Self::QUADRATIC_EDGE => 1,
            Self::TRIANGLE | Self::QUAD | Self::QUADRATIC_TRIANGLE | Self::QUADRATIC_QUAD => 2,
            Self::TETRA
            | Self::HEXAHEDRON
            | Self::WEDGE
            | Self::PYRAMID
            | Self::QUADRATIC_TETRA
            | Self::QUADRATIC_HEXAHEDRON => 3,
            _ => return None,
        })
    }
}
