//! The points of structured meshes whose coordinates are fields: rectilinear and curvilinear ones.

use super::MeshError;
use super::fields::{Fields, points_of};
use super::points::{Places, Points};
use ndarray::{ArrayView4, Axis, Ix4};
use tcasm_analytics::{Number, dynamic};
use tcasm_core::field::{DType, FieldDesc, MeshDesc, MeshKind, Order};

/// The points of a structured mesh. Axes that it does not have come first, with one point each.
pub enum Lattice<'a> {
    /// The coordinates along z, y and x, if there are such.
    Axes([Option<Points<'a>>; 3]),
    /// The coordinates of the points, in the order (z, y, x, component).
    F32(ArrayView4<'a, f32>),
    F64(ArrayView4<'a, f64>),
}

impl<'a> Lattice<'a> {
    /// Returns the points of a rectilinear mesh with these coordinates along x, y and z.
    pub fn rectilinear(coordinates: Vec<Points<'a>>) -> Self {
        let mut axes = [None, None, None];
        for (axis, points) in axes.iter_mut().rev().zip(coordinates) {
            *axis = Some(points);
        }
        Lattice::Axes(axes)
    }

    /// Returns the points of a curvilinear mesh, which are the field `desc`.
    pub fn curvilinear(desc: &FieldDesc, bytes: &'a [u8]) -> Result<Self, MeshError> {
        match desc.dtype {
            DType::F32 => Ok(Lattice::F32(points(desc, bytes)?)),
            DType::F64 => Ok(Lattice::F64(points(desc, bytes)?)),
            other => {
                let name = &desc.name;
                let text = format!("field {name:?} has dtype {other}; coordinates are floats");
                Err(MeshError::Field(text))
            }
        }
    }

    /// Returns the number of points along z, y and x.
    pub fn counts(&self) -> [usize; 3] {
        let first = |shape: &[usize]| [shape[0], shape[1], shape[2]];
        match self {
            Lattice::Axes(axes) => {
                let count = |axis: &Option<Points<'_>>| axis.as_ref().map_or(1, Places::count);
                [count(&axes[0]), count(&axes[1]), count(&axes[2])]
            }
            Lattice::F32(points) => first(points.shape()),
            Lattice::F64(points) => first(points.shape()),
        }
    }

    /// Returns the coordinates x, y, z of the point with the indices `at` (z, y, x). They may be
    /// any numbers; NaN if there is no such point.
    pub fn point(&self, at: [usize; 3]) -> [f64; 3] {
        let [z, y, x] = at;
        match self {
            Lattice::Axes(axes) => [2, 1, 0].map(|axis| match &axes[axis] {
                Some(points) if at[axis] < points.count() => points.get(at[axis])[0],
                Some(_) => f64::NAN,
                None => 0.0,
            }),
            Lattice::F32(points) => [0, 1, 2].map(|c| {
                let found = points.get([z, y, x, c]);
                found.map_or(f64::NAN, |value| f64::from(*value))
            }),
            Lattice::F64(points) => {
                [0, 1, 2].map(|c| points.get([z, y, x, c]).copied().unwrap_or(f64::NAN))
            }
        }
    }
}

/// Returns the points of a field in the order (z, y, x, component).
fn points<'a, T: Number>(
    desc: &FieldDesc,
    bytes: &'a [u8],
) -> Result<ArrayView4<'a, T>, MeshError> {
    let failed = |text: String| MeshError::Field(format!("field {:?}: {text}", desc.name));
    let points = dynamic::points::<T>(desc, bytes).map_err(|error| failed(error.to_string()))?;
    let axes = points.ndim() - 1;
    let mut points = match desc.order {
        Order::C => points,
        Order::F => points.permuted_axes((0..axes).rev().chain([axes]).collect::<Vec<_>>()),
    };
    while points.ndim() < 4 {
        points.insert_axis_inplace(Axis(0));
    }
    let points = points.into_dimensionality::<Ix4>();
    points.map_err(|_| failed(format!("it has {axes} axes, more than 3")))
}

/// Returns the points of a structured mesh whose coordinates are fields; `None` for other meshes.
pub fn lattice<'f>(
    fields: &'f impl Fields,
    mesh: &MeshDesc,
) -> Result<Option<Lattice<'f>>, MeshError> {
    match &mesh.kind {
        MeshKind::Rectilinear { coordinates } => {
            let axes = coordinates.iter().map(|name| points_of(fields, name));
            Ok(Some(Lattice::rectilinear(axes.collect::<Result<_, _>>()?)))
        }
        MeshKind::Curvilinear { coordinates } => {
            let (desc, bytes) = fields.get(coordinates)?;
            Lattice::curvilinear(desc, bytes).map(Some)
        }
        _ => Ok(None),
    }
}
