//! The arrays of unstructured meshes, and of grids whose points have coordinates.

use super::axis::Axis;
use super::explicit::{Counts, Explicit, Source};
use super::made::{Made, lattice_cell, lattice_cells};
use crate::format::shape::slowest_first;
use crate::write::layouts::grid::Grid;
use tcasm_core::field::{CellType, Cells, DType, FieldDesc, FieldTable, Mesh};

/// Returns the arrays of an unstructured mesh with the points of the field `points`. Fails with the
/// reason why VTK cannot have them.
pub fn of<'t>(
    table: &'t FieldTable,
    points: &'t FieldDesc,
    cells: &'t Cells,
) -> Result<Explicit<'t>, String> {
    let field = |name: &str| whole(table, name);
    match cells {
        Cells::Same {
            cell_type,
            connectivity,
        } => Ok(same(points, *cell_type, field(connectivity)?)),
        Cells::Mixed {
            connectivity,
            offsets,
            types,
        } => Ok(mixed(
            points,
            field(connectivity)?,
            field(offsets)?,
            field(types)?,
        )),
    }
}

/// Returns the field called `name`, which must not have ghost layers.
fn whole<'t>(table: &'t FieldTable, name: &str) -> Result<&'t FieldDesc, String> {
    match table.get(name) {
        Some(field) if field.has_ghosts() => Err(format!("{name:?} has ghost layers")),
        Some(field) => Ok(field),
        None => Err(format!("there is no field {name:?}")),
    }
}

/// Returns the arrays of cells that all have the same type.
fn same<'t>(points: &'t FieldDesc, cell: CellType, ids: &'t FieldDesc) -> Explicit<'t> {
    let (count, corners) = (ids.shape[0], ids.components);
    // VTK needs connectivity and offsets of the same type.
    let most = ids.capacity_shape()[0].checked_mul(corners);
    let is_small = most.is_some_and(|most| i32::try_from(most).is_ok());
    let narrow = ids.dtype == DType::I32 && is_small;
    Explicit {
        points: Source::points(points),
        connectivity: if narrow {
            Source::Field(ids)
        } else {
            wide(ids)
        },
        offsets: Source::Made(Made::Ramp {
            step: corners,
            count: count + 1,
            narrow,
        }),
        types: Some(Source::Made(Made::Types { cell, count })),
        counts: Counts {
            points: points.shape[0],
            cells: count,
            ids: count * corners,
        },
    }
}

/// Returns the arrays of cells of different types.
fn mixed<'t>(
    points: &'t FieldDesc,
    ids: &'t FieldDesc,
    offsets: &'t FieldDesc,
    types: &'t FieldDesc,
) -> Explicit<'t> {
    let narrow = ids.dtype == DType::I32 && offsets.dtype == DType::I32;
    let as_is = |field: &'t FieldDesc| {
        if narrow {
            Source::Field(field)
        } else {
            wide(field)
        }
    };
    Explicit {
        points: Source::points(points),
        connectivity: as_is(ids),
        offsets: as_is(offsets),
        types: Some(Source::Field(types)),
        counts: Counts {
            points: points.shape[0],
            cells: types.shape[0],
            ids: ids.shape[0],
        },
    }
}

/// Returns the integers of `field` as numbers of 64 bits.
fn wide(field: &FieldDesc) -> Source<'_> {
    match field.dtype {
        DType::I64 => Source::Field(field),
        _ => Source::Made(Made::Indices(field)),
    }
}

/// Returns the arrays of a grid with the axes x, y and z.
pub fn rectilinear(axes: [Axis<'_>; 3]) -> Explicit<'_> {
    let (along, most) = (axes.map(Axis::points), axes.map(Axis::most));
    lattice(along, most, Source::Made(Made::Axes(axes)))
}

/// Returns the arrays of a uniform grid, which has at most `most` points along x, y and z in all
/// versions.
pub fn uniform(grid: &Grid, most: [usize; 3]) -> Explicit<'static> {
    let [z, y, x] = grid.points;
    let Mesh { origin, spacing } = grid.mesh;
    let even = |axis: usize, points| Axis::Even {
        origin: origin[axis],
        spacing: spacing[axis],
        points,
    };
    let axes = [even(0, x), even(1, y), even(2, z)];
    lattice([x, y, z], most, Source::Made(Made::Axes(axes)))
}

/// Returns the arrays of a grid with the points `coordinates`.
pub fn curvilinear(coordinates: &FieldDesc) -> Explicit<'_> {
    let (now, most) = (along(coordinates), along(&coordinates.at_capacity()));
    lattice(now, most, Source::points(coordinates))
}

/// Returns the number of points of `field` along x, y and z, without ghost layers.
fn along(field: &FieldDesc) -> [usize; 3] {
    let extents = slowest_first(field, &field.interior_shape());
    let mut points = [1; 3];
    for (axis, extent) in points.iter_mut().zip(extents.into_iter().rev()) {
        *axis = extent;
    }
    points
}

/// Returns the arrays of a grid with `along` points along x, y and z, of at most `most` in all
/// versions.
fn lattice(along: [usize; 3], most: [usize; 3], points: Source<'_>) -> Explicit<'_> {
    let (cell, count) = (lattice_cell(along), lattice_cells(along));
    let (corners, narrow) = (cell.points().unwrap_or(1), is_narrow(most));
    Explicit {
        points,
        connectivity: Source::Made(Made::Lattice {
            points: along,
            narrow,
        }),
        offsets: Source::Made(Made::Ramp {
            step: corners,
            count: count + 1,
            narrow,
        }),
        types: Some(Source::Made(Made::Types { cell, count })),
        counts: Counts {
            points: along.iter().product(),
            cells: count,
            ids: count * corners,
        },
    }
}

/// Returns true if the cells of a grid with so many points along x, y and z can be numbers of 32
/// bits. There are at most 8 corners of cells for each point.
fn is_narrow(points: [usize; 3]) -> bool {
    let mut points = points.iter();
    let ids = points.try_fold(8_usize, |ids, n| ids.checked_mul(*n));
    ids.is_some_and(|ids| i32::try_from(ids).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_grids_take_32_bits_as_long_as_all_offsets_fit() {
        let even = |points| Axis::Even {
            origin: 0.0,
            spacing: 1.0,
            points,
        };
        let dtype = |points: usize| {
            let grid = rectilinear([even(points), even(1 << 10), even(1 << 10)]);
            let dtypes = [&grid.connectivity, &grid.offsets].map(|source| match source {
                Source::Made(made) => made.dtype(),
                Source::Field(field) => field.dtype,
            });
            assert_eq!(dtypes[0], dtypes[1], "VTK needs the same");
            dtypes[0]
        };
        assert_eq!([dtype(255), dtype(256)], [DType::I32, DType::I64]);
    }

    #[test]
    fn capacity_of_an_axis_decides_on_the_type_for_all_versions() {
        let mut axis = FieldDesc::new("x", DType::F64, &[2]);
        let narrow = |axis: &FieldDesc| {
            let grid = rectilinear([Axis::Field(axis), Axis::ABSENT, Axis::ABSENT]);
            matches!(
                grid.connectivity,
                Source::Made(Made::Lattice { narrow: true, .. })
            )
        };
        assert!(narrow(&axis));
        axis.capacity = Some(1 << 28);
        assert!(!narrow(&axis));
    }
}
