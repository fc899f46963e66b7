//! The coordinates of points, read from the geometry fields of a mesh.

use super::MeshError;
use ndarray::{ArrayView2, Ix2};
use tcasm_analytics::{Number, dynamic};
use tcasm_core::field::{DType, FieldDesc};

/// The greatest coordinate that is shown. Screens draw in 32-bit floats.
pub const FARTHEST: f64 = 1e30;

/// Places that are counted: points, or the middles of cells.
pub trait Places {
    /// Returns how many there are.
    fn count(&self) -> usize;
    /// Returns the coordinates x, y, z of a place, whose number must be below the count. They may
    /// be any numbers.
    fn get(&self, number: usize) -> [f64; 3];
}

/// The points of a field of one axis, with one to three coordinates each.
#[derive(Clone, Debug)]
pub enum Points<'a> {
    F32(ArrayView2<'a, f32>),
    F64(ArrayView2<'a, f64>),
}

impl<'a> Points<'a> {
    /// Reads the field `desc`, whose bytes are `bytes`.
    pub fn of(desc: &FieldDesc, bytes: &'a [u8]) -> Result<Self, MeshError> {
        match desc.dtype {
            DType::F32 => Ok(Points::F32(rows(desc, bytes)?)),
            DType::F64 => Ok(Points::F64(rows(desc, bytes)?)),
            other => {
                let name = &desc.name;
                let text = format!("field {name:?} has dtype {other}; coordinates are floats");
                Err(MeshError::Field(text))
            }
        }
    }
}

impl Places for Points<'_> {
    fn count(&self) -> usize {
        match self {
            Points::F32(rows) => rows.nrows(),
            Points::F64(rows) => rows.nrows(),
        }
    }

    /// Coordinates that the field lacks are 0.
    fn get(&self, number: usize) -> [f64; 3] {
        let at = |axis| match self {
            Points::F32(rows) => rows.get([number, axis]).map(|x| f64::from(*x)),
            Points::F64(rows) => rows.get([number, axis]).copied(),
        };
        [0, 1, 2].map(|axis| at(axis).unwrap_or(0.0))
    }
}

/// Returns the values of a field of one axis: a row for each point, a column for each component.
pub fn rows<'a, T: Number>(
    desc: &FieldDesc,
    bytes: &'a [u8],
) -> Result<ArrayView2<'a, T>, MeshError> {
    let failed =
        |error: &dyn std::fmt::Display| MeshError::Field(format!("field {:?}: {error}", desc.name));
    if desc.shape == [0] {
        // There are no bytes, so they need not be aligned.
        let none = ArrayView2::from_shape((0, desc.components), &[]);
        return none.map_err(|error| failed(&error));
    }
    let points = dynamic::points::<T>(desc, bytes).map_err(|error| failed(&error))?;
    let rows = points.into_dimensionality::<Ix2>();
    rows.map_err(|_| failed(&format!("it has {} axes, not 1", desc.shape.len())))
}

/// Returns true if a point can be drawn: its coordinates are finite, and not farther away than
/// [`FARTHEST`].
pub fn is_usable(point: [f64; 3]) -> bool {
    point.iter().all(|x| x.abs() <= FARTHEST)
}
