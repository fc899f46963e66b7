//! The images of a job: one of the global arrays, and those of the uniform grids of each rank.

use super::arrays::{Array, Origin, Piece};
use super::sources::Source;
use crate::format::shape::slowest_first;
use crate::write::layouts::grid::Grid;
use crate::write::layouts::vtkhdf::{Data, Geometry, Shown, group_of};
use std::collections::BTreeMap;
use std::ops::Range;
use tcasm_core::field::{FieldDesc, FieldTable};

/// Returns the global arrays of the job.
pub fn whole_table(sources: &[Source]) -> FieldTable {
    let mut arrays: BTreeMap<String, FieldDesc> = BTreeMap::new();
    for source in sources {
        let table = &source.rank.table;
        for field in &table.fields {
            if let Some(whole) = field.whole(table) {
                arrays.entry(whole.name.clone()).or_insert(whole);
            }
        }
    }
    FieldTable {
        fields: arrays.into_values().collect(),
        ..FieldTable::default()
    }
}

/// Returns the image of the fields of `table` that are on no named mesh, if there is one.
pub fn free_grid(table: &FieldTable) -> Option<Shown<'_>> {
    let grid = Grid::of(table);
    if grid.is_point() {
        return None;
    }
    let data = table.fields.iter().filter_map(|field| {
        Some(Data {
            field,
            group: group_of(field),
            name: field.name.clone(),
            shape: grid.shape_of(field)?,
        })
    });
    Some(Shown {
        name: "grid".to_owned(),
        mesh: None,
        data: data.collect(),
        geometry: Geometry::Image(grid),
    })
}

/// Returns an array of the image of the global arrays. Where blocks overlap, that of the lowest
/// rank counts.
pub fn of_all<'s>(sources: &'s [Source], data: &Data<'s>, grid: &Grid) -> Array<'s> {
    let array = data.field;
    let pieces = sources.iter().rev().filter_map(|source| {
        let block = source.rank.table.get(&array.name)?;
        let place = slowest_first(block, &block.block()?);
        let fits = block.dtype == array.dtype && block.components == array.components;
        fits.then(|| Piece {
            origin: Origin::Field(source, block),
            place: on_grid(place, array, grid),
        })
    });
    array_of(data, pieces.collect())
}

/// Returns an array of an image of one rank.
pub fn of_rank<'s>(source: &'s Source, data: &Data<'s>) -> Array<'s> {
    let piece = Piece {
        origin: Origin::Field(source, data.field),
        place: data.shape.iter().map(|n| 0..*n).collect(),
    };
    array_of(data, vec![piece])
}

fn array_of<'s>(data: &Data<'s>, pieces: Vec<Piece<'s>>) -> Array<'s> {
    Array {
        path: format!("{}/{}", data.group, data.name),
        dtype: data.field.dtype,
        unit: &data.field.unit,
        shape: data.shape.clone(),
        is_zero: false,
        pieces,
    }
}

/// Returns a place along the axes of `array` as a place in its image, which lacks axes of extent 1.
fn on_grid(place: Vec<Range<usize>>, array: &FieldDesc, grid: &Grid) -> Vec<Range<usize>> {
    let points = &grid.points[grid.points.len().saturating_sub(array.shape.len())..];
    let along = place.into_iter().zip(points);
    let present = along.filter(|(_, points)| **points > 1);
    let components = (array.components > 1).then_some(0..array.components);
    present.map(|(place, _)| place).chain(components).collect()
}
