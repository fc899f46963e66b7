//! The unstructured meshes and the particles of a job: data sets with a part for each rank. The
//! parts follow each other in all arrays, and the cells of each count its own points.

use super::arrays::{Array, Origin, Piece};
use super::shared::Counted;
use super::sources::Source;
use crate::format::shape::with_components;
use crate::write::layouts::vtkhdf::{self, Counts, Data, Explicit, Geometry, Made, Shown};
use std::ops::Range;
use tcasm_core::field::DType;

/// A mesh of one rank.
pub struct Part<'s> {
    pub source: &'s Source,
    pub shown: Shown<'s>,
    pub explicit: Explicit<'s>,
}

impl<'s> Part<'s> {
    /// Returns a mesh of a rank, or the same mesh if it is an image.
    pub fn new(source: &'s Source, shown: Shown<'s>) -> Result<Self, Box<Shown<'s>>> {
        match &shown.geometry {
            Geometry::Image(_) => Err(Box::new(shown)),
            Geometry::Explicit(explicit) => Ok(Part {
                source,
                explicit: (**explicit).clone(),
                shown,
            }),
        }
    }
}

/// Returns all arrays of the mesh with these parts, of which there is at least one.
pub fn arrays<'s>(parts: &[Part<'s>]) -> Vec<Array<'s>> {
    let mut arrays = geometry(parts);
    for part in parts {
        for data in &part.shown.data {
            let path = path_of(data);
            if !arrays.iter().any(|array| array.path == path) {
                arrays.push(values(parts, data));
            }
        }
    }
    arrays
}

/// Returns the points and the cells.
fn geometry<'s>(parts: &[Part<'s>]) -> Vec<Array<'s>> {
    let paths = parts.first().map(|first| first.explicit.arrays());
    let paths = paths.into_iter().flatten().enumerate();
    paths
        .map(|(at, (path, _))| geometry_array(parts, at, path))
        .collect()
}

/// Returns the array of points or cells with this number and path.
fn geometry_array<'s>(parts: &[Part<'s>], at: usize, path: &str) -> Array<'s> {
    let of_part = |part: &Part<'s>| part.explicit.arrays()[at].1.clone();
    let arrays: Vec<vtkhdf::Source<'s>> = parts.iter().map(of_part).collect();
    let lengths = arrays.iter().map(|array| array.shape()[0]);
    let places: Vec<_> = follow_each_other(lengths).collect();
    let is_points = path == "Points";
    let pieces = parts.iter().zip(&arrays).zip(&places);
    let pieces = pieces.filter_map(|((part, array), place)| {
        let origin = origin(part.source, array)?;
        let columns = is_points.then(|| 0..components_of(&origin));
        Some(Piece {
            origin,
            place: std::iter::once(place.clone()).chain(columns).collect(),
        })
    });
    let len = places.last().map_or(0, |place| place.end);
    let widest = arrays.iter().map(dtype_of).max_by_key(|dtype| dtype.size());
    Array {
        path: path.to_owned(),
        dtype: widest.unwrap_or(DType::I64),
        unit: "",
        shape: if is_points { vec![len, 3] } else { vec![len] },
        is_zero: true,
        pieces: pieces.collect(),
    }
}

/// Returns the values of a field on all parts. Parts without such a field have none.
fn values<'s>(parts: &[Part<'s>], of: &Data<'s>) -> Array<'s> {
    let count = |part: &Part<'s>| match of.group {
        "CellData" => part.explicit.counts.cells,
        _ => part.explicit.counts.points,
    };
    let places: Vec<_> = follow_each_other(parts.iter().map(count)).collect();
    let fits = |data: &&Data<'s>| {
        let (field, like) = (data.field, of.field);
        let is_alike = field.dtype == like.dtype && field.components == like.components;
        is_alike && path_of(data) == path_of(of)
    };
    let pieces = parts.iter().zip(&places).filter_map(|(part, place)| {
        let data = part.shown.data.iter().find(fits)?;
        let whole = with_components(vec![0], data.field);
        let components = whole.get(1).map(|n| 0..*n);
        Some(Piece {
            origin: Origin::Field(part.source, data.field),
            place: std::iter::once(place.clone()).chain(components).collect(),
        })
    });
    let len = places.last().map_or(0, |place| place.end);
    Array {
        path: path_of(of),
        dtype: of.field.dtype,
        unit: &of.field.unit,
        shape: with_components(vec![len], of.field),
        is_zero: false,
        pieces: pieces.collect(),
    }
}

/// Returns the sizes of the parts.
pub fn counts(parts: &[Part<'_>]) -> Vec<Counts> {
    parts.iter().map(|part| part.explicit.counts).collect()
}

fn path_of(data: &Data<'_>) -> String {
    format!("{}/{}", data.group, data.name)
}

/// Returns the places of parts with these lengths.
fn follow_each_other(lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = Range<usize>> {
    lengths.scan(0, |start, length| {
        let place = *start..*start + length;
        *start = place.end;
        Some(place)
    })
}

/// Returns the source of an array of a mesh. The arrays of grids with coordinates have none.
fn origin<'s>(source: &'s Source, of: &vtkhdf::Source<'s>) -> Option<Origin<'s>> {
    match of {
        vtkhdf::Source::Field(field) => Some(Origin::Field(source, field)),
        vtkhdf::Source::Made(Made::Indices(field) | Made::Points(field)) => {
            Some(Origin::Field(source, field))
        }
        vtkhdf::Source::Made(made) => {
            let counted = Counted::of(made)?;
            Some(Origin::Shared(counted, made.shape()[0]))
        }
    }
}

/// Returns the dtype that a mesh of one rank alone would have for the array.
fn dtype_of(source: &vtkhdf::Source<'_>) -> DType {
    match source {
        vtkhdf::Source::Field(field) => field.dtype,
        vtkhdf::Source::Made(made) => made.dtype(),
    }
}

fn components_of(origin: &Origin<'_>) -> usize {
    match origin {
        Origin::Field(_, field) => field.components,
        Origin::Shared(..) => 1,
    }
}
