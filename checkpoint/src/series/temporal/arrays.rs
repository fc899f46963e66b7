//! The arrays of a series with named meshes: what is stored of each version, and in which form.
//!
//! A version has a slot in each array of a mesh. All slots have the same size, which is that of
//! the capacity, so a version is at its number times the size, whatever the lengths before were.
//! Virtual datasets need no room for the rest of a slot.

use crate::format::shape::with_components;
use crate::write::layouts::grid::most_points;
use crate::write::layouts::vtkhdf::{Explicit, Geometry, Made, Plan, Shown, Source};
use tcasm_core::field::{FieldDesc, FieldTable, MeshKind};

/// An array of a mesh that is made for VTK.
pub struct MadeArray<'p, 't> {
    /// The mesh.
    pub shown: &'p Shown<'t>,
    /// The path of the array in the group of the mesh.
    pub path: &'static str,
    /// The array.
    pub made: &'p Made<'t>,
}

/// Returns the arrays that are made for the meshes of `plan`. Their order is the same for all
/// versions of a series.
pub fn made<'p, 't>(plan: &'p Plan<'t>) -> Vec<MadeArray<'p, 't>> {
    let mut all = Vec::new();
    for shown in &plan.meshes {
        let Geometry::Explicit(explicit) = &shown.geometry else {
            continue;
        };
        for (path, source) in explicit.arrays() {
            if let Source::Made(made) = source {
                all.push(MadeArray { shown, path, made });
            }
        }
    }
    all
}

/// Returns `table` with the largest lengths that its fields can have, and the most points that
/// uniform meshes can have with them.
pub fn at_capacity(table: &FieldTable) -> FieldTable {
    let mut largest = table.clone();
    for field in &mut largest.fields {
        field.shape = field.capacity_shape();
    }
    for mesh in &mut largest.meshes {
        if let MeshKind::Uniform { points, .. } = &mut mesh.kind {
            *points = most_points(table, &mesh.name, *points);
        }
    }
    largest
}

/// The most points of a mesh with the largest lengths. Arrays may have 128 bytes for each, and that
/// can still be counted.
const MOST_POINTS: usize = isize::MAX as usize / 128;

/// Checks that the arrays of meshes with the largest lengths have sizes that can be counted: a
/// table in a file may say anything.
pub fn check_sizes(table: &FieldTable) -> Result<(), String> {
    let largest = at_capacity(table);
    for mesh in &largest.meshes {
        // Fields with room for other lengths are no error, and then there is no size.
        let Ok(size) = largest.size_of(mesh) else {
            continue;
        };
        let mut axes = size.points.iter().map(|count| (*count).max(1));
        let all = axes.try_fold(1, usize::checked_mul);
        if all.is_none_or(|all| all > MOST_POINTS) {
            return Err(format!(
                "mesh {:?} has room for {:?} points, more than {MOST_POINTS} in all; the file is \
                 damaged or from another program",
                mesh.name, size.points
            ));
        }
    }
    Ok(())
}

/// Returns the largest length that `field` can have.
pub fn capacity(field: &FieldDesc) -> usize {
    field.capacity.unwrap_or_else(|| field.length())
}

/// Returns the size of a slot in the array at `path` of a mesh, or of a field in the group `path`.
/// `explicit` has the largest lengths.
pub fn slot(explicit: &Explicit<'_>, path: &str) -> usize {
    let counts = explicit.counts;
    match path.rsplit('/').next() {
        Some("Connectivity") => counts.ids,
        Some("Offsets") => counts.cells + 1,
        Some("Types" | "CellData") => counts.cells,
        _ => counts.points,
    }
}

/// Returns the shape in which files of rows hold the field called `name`, if a mesh of `plan` needs
/// it along one axis, and the size of its slot if `plan` has the largest lengths.
pub fn flat(plan: &Plan<'_>, name: &str) -> Option<(Vec<usize>, usize)> {
    let meshes = || plan.meshes.iter().filter_map(explicit);
    let geometry = meshes().find_map(|(_, explicit)| {
        let mut arrays = explicit.arrays().into_iter();
        arrays.find_map(|(path, source)| match source {
            Source::Field(field) if field.name == name => {
                Some((source.shape(), slot(explicit, path)))
            }
            _ => None,
        })
    });
    geometry.or_else(|| {
        meshes().find_map(|(shown, explicit)| {
            let mut data = shown.data.iter().filter(|data| !data.field.has_ghosts());
            let data = data.find(|data| data.field.name == name)?;
            let count = data.field.shape.iter().product();
            let shape = with_components(vec![count], data.field);
            Some((shape, slot(explicit, data.group)))
        })
    })
}

/// Returns the mesh with its arrays, if its points have coordinates.
fn explicit<'p, 't>(shown: &'p Shown<'t>) -> Option<(&'p Shown<'t>, &'p Explicit<'t>)> {
    match &shown.geometry {
        Geometry::Explicit(explicit) => Some((shown, explicit)),
        Geometry::Image(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::{DType, MeshDesc};

    /// Returns a table with a uniform mesh of `side` times `side` times 2 points, on which a field
    /// has room for `capacity` layers.
    fn table(side: usize, capacity: usize) -> FieldTable {
        let mut field = FieldDesc::new("a", DType::U8, &[2, side, side]);
        (field.capacity, field.on) = (Some(capacity), Some("m".to_owned()));
        let kind = MeshKind::Uniform {
            points: [side, side, 2],
            origin: [0.0; 3],
            spacing: [1.0; 3],
        };
        let mesh = MeshDesc {
            name: "m".to_owned(),
            kind,
            block: None,
            attrs: Default::default(),
        };
        FieldTable {
            fields: vec![field],
            meshes: vec![mesh],
            ..FieldTable::default()
        }
    }

    #[test]
    fn meshes_whose_largest_size_cannot_be_counted_are_refused() {
        assert_eq!(check_sizes(&table(1 << 10, 1 << 10)), Ok(()));
        // Each of its versions may have a size that can be counted.
        let hostile = table(1 << 20, 1 << 20);
        hostile.check_meshes().unwrap();
        let why = check_sizes(&hostile).unwrap_err();
        assert!(why.contains("1048576, 1048576, 1048576"), "{why}");
    }
}
