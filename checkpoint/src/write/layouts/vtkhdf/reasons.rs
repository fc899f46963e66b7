//! Why VTK does not show a field, as users read it.

use crate::format::shape::slowest_first;
use crate::write::layouts::grid::Grid;
use tcasm_core::field::{Centering, FieldDesc, FieldTable, Kind};

/// Returns the reason why VTK can show `field` on no mesh.
pub fn defect(field: &FieldDesc) -> Option<&'static str> {
    match (&field.kind, field.centering) {
        (Kind::Raw { .. }, _) => Some("VTK has no structures"),
        _ if field.dtype.is_complex() => Some("VTK has no complex numbers"),
        (_, Centering::None) => Some("it is a table, on neither points nor cells"),
        _ => None,
    }
}

/// Returns the reason why `field`, which is on no named mesh of `table`, does not lie on `grid`,
/// the grid of such fields.
pub fn off_grid(table: &FieldTable, grid: &Grid, field: &FieldDesc) -> String {
    if let Some(why) = defect(field).or_else(|| off_all_grids(field)) {
        return why.to_owned();
    }
    // There is such a field, because `field` can lie on a grid itself.
    let of = Grid::source(table).map_or(field.name.as_str(), |of| of.name.as_str());
    match grid.shape_on(field) {
        _ if grid.is_point() && of == field.name => "it has a single point".to_owned(),
        _ if grid.is_point() => format!("the grid of the file is that of {of}, a single point"),
        Some(_) => format!(
            "its origin and spacing are not those of the grid of the file, which is that of {of}"
        ),
        None => {
            let have = slowest_first(field, &field.interior_shape());
            let need = grid.extents_for(field.centering);
            let need = without_leading_ones(&need);
            let at = match field.centering {
                Centering::Cell => "cells",
                _ => "points",
            };
            format!(
                "its extents are {have:?}, but the grid of the file, which is that of {of}, has \
                 {need:?} {at}"
            )
        }
    }
}

/// Returns the reason why `field`, which VTK could show on another mesh, cannot lie on a grid.
fn off_all_grids(field: &FieldDesc) -> Option<&'static str> {
    match field.shape.len() {
        _ if field.capacity.is_some() => Some("its length may change, and that of a grid cannot"),
        0 => Some("it is a single value"),
        1..=3 => None,
        _ => Some("it has more than three axes"),
    }
}

/// Returns `extents` without the leading axes of one point or cell.
fn without_leading_ones(extents: &[usize; 3]) -> &[usize] {
    let ones = extents.iter().take(2).take_while(|n| **n == 1).count();
    &extents[ones..]
}
