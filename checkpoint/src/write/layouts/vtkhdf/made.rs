//! Arrays that VTK needs and that are not fields, or are fields in another form. They are made
//! block by block while they are written, so they need no memory.

use super::axis::Axis;
use crate::file::Fault;
use crate::format::cells::Integers;
use crate::format::data::typed;
use crate::format::shape::interior_place;
use crate::snapshot::Snapshot;
use crate::write::data::{self, Target};
use hdf5::{Dataset, H5Type};
use std::ops::Range;
use tcasm_core::field::{CellType, DType, Element, FieldDesc, cells_between};

/// An array that is made.
#[derive(Clone, Debug, PartialEq)]
pub enum Made<'t> {
    /// 0, `step`, 2 `step`, ...: the offsets of cells of the same type, or the points of vertices.
    Ramp {
        /// The distance of neighbouring values.
        step: usize,
        /// The number of values.
        count: usize,
        /// True for numbers of 32 bits, false for 64 bits.
        narrow: bool,
    },
    /// The types of cells that all have the same one.
    Types {
        /// The type.
        cell: CellType,
        /// The number of cells.
        count: usize,
    },
    /// The integers of a field, as numbers of 64 bits.
    Indices(&'t FieldDesc),
    /// The points of a field without its ghost layers, with 0 for coordinates that it lacks.
    Points(&'t FieldDesc),
    /// The points of a grid with the axes x, y and z.
    Axes([Axis<'t>; 3]),
    /// The points of the cells of a grid.
    Lattice {
        /// The number of points along x, y and z.
        points: [usize; 3],
        /// True for numbers of 32 bits, false for 64 bits.
        narrow: bool,
    },
}

impl<'t> Made<'t> {
    /// Returns the dtype of the array.
    pub fn dtype(&self) -> DType {
        match self {
            Made::Ramp { narrow: true, .. } | Made::Lattice { narrow: true, .. } => DType::I32,
            Made::Ramp { .. } | Made::Indices(_) | Made::Lattice { .. } => DType::I64,
            Made::Types { .. } => DType::U8,
            Made::Points(field) => field.dtype,
            Made::Axes(_) => DType::F64,
        }
    }

    /// Returns the shape of the array.
    pub fn shape(&self) -> Vec<usize> {
        match self {
            Made::Ramp { count, .. } | Made::Types { count, .. } => vec![*count],
            Made::Indices(field) => vec![field.shape.iter().product::<usize>() * field.components],
            Made::Points(field) => vec![field.interior_shape().iter().product(), 3],
            Made::Axes(axes) => vec![axes.map(Axis::points).iter().product(), 3],
            Made::Lattice { points, .. } => vec![lattice_ids(*points)],
        }
    }

    /// Returns the fields whose values the array depends on.
    pub fn fields(&self) -> Vec<&'t FieldDesc> {
        match self {
            Made::Ramp { .. } | Made::Types { .. } | Made::Lattice { .. } => Vec::new(),
            Made::Indices(field) | Made::Points(field) => vec![*field],
            Made::Axes(axes) => axes.iter().filter_map(|axis| axis.field()).collect(),
        }
    }

    /// Returns the same array for `count` values, if a shorter one is always the beginning of a
    /// longer one.
    pub fn with_count(&self, count: usize) -> Option<Self> {
        match *self {
            Made::Ramp { step, narrow, .. } => Some(Made::Ramp {
                step,
                count,
                narrow,
            }),
            Made::Types { cell, .. } => Some(Made::Types { cell, count }),
            _ => None,
        }
    }

    /// Makes the array at `target`, which must have its shape.
    pub fn write(&self, target: &Target<'_>, snapshot: &Snapshot<'_>) -> Result<Dataset, Fault> {
        match self {
            Made::Ramp { step, narrow, .. } => match narrow {
                true => data::write_made(target, |rows| scaled(rows, *step, |n| n as i32)),
                false => data::write_made(target, |rows| scaled(rows, *step, |n| n as i64)),
            },
            Made::Types { cell, .. } => data::write_made(target, |rows| vec![cell.0; rows.len()]),
            Made::Indices(field) => {
                let values = Integers::of(field, snapshot.bytes(field)?);
                data::write_made(target, |rows| rows.map(|i| values.get(i) as i64).collect())
            }
            Made::Points(field) => match field.dtype {
                DType::F32 => write_points::<f32>(target, field, snapshot.bytes(field)?),
                _ => write_points::<f64>(target, field, snapshot.bytes(field)?),
            },
            Made::Axes(axes) => write_axes(target, axes, snapshot),
            Made::Lattice { points, narrow } => match narrow {
                true => data::write_made(target, |rows| corners(*points, rows, |n| n as i32)),
                false => data::write_made(target, |rows| corners(*points, rows, |n| n as i64)),
            },
        }
    }
}

/// Returns the numbers of `rows` times `step`.
fn scaled<T>(rows: Range<usize>, step: usize, number: impl Fn(usize) -> T) -> Vec<T> {
    rows.map(|i| number(i * step)).collect()
}

/// Writes the interior points of `field`, whose bytes are `bytes`, with three coordinates each.
fn write_points<T: H5Type + Element>(
    target: &Target<'_>,
    field: &FieldDesc,
    bytes: &[u8],
) -> Result<Dataset, Fault> {
    let values = typed::<T>(bytes);
    let place = interior_place(field);
    let coordinate = |place: usize, axis: usize| match axis < field.components {
        true => values[place + axis],
        false => T::zeroed(),
    };
    data::write_made(target, |rows| {
        let places = rows.map(&place);
        let points = places.map(|place| [0, 1, 2].map(|axis| coordinate(place, axis)));
        points.collect::<Vec<_>>().concat()
    })
}

/// Writes the points of a grid with the axes x, y and z.
fn write_axes(
    target: &Target<'_>,
    axes: &[Axis<'_>; 3],
    snapshot: &Snapshot<'_>,
) -> Result<Dataset, Fault> {
    let along = |axis: usize| axes[axis].coordinates(snapshot);
    let (x, y, z) = (along(0)?, along(1)?, along(2)?);
    let [columns, rows, _] = axes.map(Axis::points);
    data::write_made(target, |points| {
        let points = points.map(|i| {
            let (row, plane) = (i / columns, i / (columns * rows));
            [x(i % columns), y(row % rows), z(plane)]
        });
        points.collect::<Vec<_>>().concat()
    })
}

/// Returns the type of the cells of a grid with `points` points along x, y and z.
pub fn lattice_cell(points: [usize; 3]) -> CellType {
    let types = [
        CellType::VERTEX,
        CellType::LINE,
        CellType::QUAD,
        CellType::HEXAHEDRON,
    ];
    types[points.iter().filter(|n| **n > 1).count()]
}

/// Returns the number of cells of a grid with `points` points along x, y and z.
pub fn lattice_cells(points: [usize; 3]) -> usize {
    points.map(cells_between).iter().product()
}

/// Returns the number of points of all cells of a grid.
fn lattice_ids(points: [usize; 3]) -> usize {
    lattice_cells(points) * lattice_cell(points).points().unwrap_or_default()
}

/// Returns the values of `rows` of the points of all cells of a grid.
fn corners<T>(points: [usize; 3], rows: Range<usize>, number: impl Fn(usize) -> T) -> Vec<T> {
    rows.map(|id| number(lattice_id(points, id))).collect()
}

/// Returns value `id` of the points of all cells of a grid: VTK goes around the lower side of a
/// cell, then around the upper one.
fn lattice_id(points: [usize; 3], id: usize) -> usize {
    let corners = lattice_cell(points).points().unwrap_or(1);
    let (mut cell, corner) = (id / corners, id % corners);
    let steps = [
        [0, 1, 1, 0][corner % 4],
        [0, 0, 1, 1][corner % 4],
        corner / 4,
    ];
    let mut present = steps.into_iter();
    let (mut point, mut stride) = (0, 1);
    for n in points {
        let cells = cells_between(n);
        let step = if n > 1 {
            present.next().unwrap_or(0)
        } else {
            0
        };
        point += (cell % cells + step) * stride;
        cell /= cells;
        stride *= n;
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(points: [usize; 3]) -> Vec<usize> {
        corners(points, 0..lattice_ids(points), |n| n)
    }

    #[test]
    fn cells_of_a_grid_go_around_their_points_as_vtk_does() {
        assert_eq!(cells([3, 1, 1]), [0, 1, 1, 2]);
        assert_eq!(cells([1, 1, 3]), [0, 1, 1, 2]);
        assert_eq!(cells([3, 2, 1]), [0, 1, 4, 3, 1, 2, 5, 4]);
        assert_eq!(cells([2, 1, 2]), [0, 1, 3, 2]);
        assert_eq!(cells([2, 2, 2]), [0, 1, 3, 2, 4, 5, 7, 6]);
        assert_eq!(cells([1, 1, 1]), [0]);
        assert_eq!(cells([0, 3, 1]), [0; 0]);
    }

    #[test]
    fn last_cell_of_a_grid_has_the_last_point() {
        let points = [4, 3, 5];
        let all = cells(points);
        assert_eq!(all.len(), 3 * 2 * 4 * 8);
        assert_eq!(all[all.len() - 2], 4 * 3 * 5 - 1);
        assert_eq!(all.iter().copied().max(), Some(59));
    }
}
