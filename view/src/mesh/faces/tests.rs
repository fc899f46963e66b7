//! The surface of random cells, beside a model that counts all faces.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use tcasm_core::field::{DType, FieldDesc};

const TYPES: [CellType; 6] = [
    CellType::TRIANGLE,
    CellType::QUAD,
    CellType::TETRA,
    CellType::HEXAHEDRON,
    CellType::WEDGE,
    CellType::PYRAMID,
];

/// Number of points of the mesh: so few that cells share faces, and name points several times.
const POINTS: u32 = 7;

/// Returns the type and the points of a cell.
fn a_cell() -> impl Strategy<Value = (CellType, Vec<u32>)> {
    let cell_type = proptest::sample::select(&TYPES[..]);
    cell_type.prop_flat_map(|cell_type| {
        let count = cell_type.points().expect("all types have points");
        (Just(cell_type), prop::collection::vec(0..POINTS, count))
    })
}

/// Returns the polygons of the surface with their cells, in the order of cells: those of flat cells,
/// and those of which there is one only.
fn model(cells: &[(CellType, Vec<u32>)]) -> Vec<(u32, Polygon)> {
    let mut counts = HashMap::new();
    let mut all = Vec::new();
    for (cell, (cell_type, points)) in (0..).zip(cells) {
        let flat = cell_type.dimensions() == Some(2);
        for face in faces_of(*cell_type) {
            let polygon = polygon(face, points);
            let mut key = polygon;
            key.sort_unstable();
            all.push((cell, polygon, key, flat));
            *counts.entry((key, flat)).or_insert(0) += 1;
        }
    }
    all.retain(|(_, polygon, key, flat)| {
        triangles_of(*polygon) > 0 && (*flat || counts[&(*key, false)] == 1)
    });
    let shown = all.into_iter().map(|(cell, polygon, ..)| (cell, polygon));
    shown.collect()
}

/// Returns the surface of the cells as a table with fields describes them.
fn found(cells: &[(CellType, Vec<u32>)]) -> Vec<(u32, Polygon)> {
    let points: Vec<u32> = cells
        .iter()
        .flat_map(|(_, points)| points.clone())
        .collect();
    let types: Vec<u8> = cells.iter().map(|(cell_type, _)| cell_type.0).collect();
    let mut offsets = vec![0_u32];
    for (_, points) in cells {
        offsets.push(offsets.last().unwrap() + points.len() as u32);
    }
    let desc = |name: &str, dtype, count| FieldDesc::new(name, dtype, &[count]);
    let [c, o] = [("c", points.len()), ("o", offsets.len())]
        .map(|(name, count)| desc(name, DType::U32, count));
    let t = desc("t", DType::U8, types.len());
    let list = CellList::mixed(
        "m",
        POINTS as usize,
        (&c, bytemuck::cast_slice(&points)),
        (&o, bytemuck::cast_slice(&offsets)),
        (&t, &types),
    );
    let list = list.unwrap();
    let (outer, mut faces) = (outer(&list).unwrap(), Vec::new());
    outer
        .each(&list, |cell, polygon| faces.push((cell, polygon)))
        .unwrap();
    let triangles: usize = faces
        .iter()
        .map(|(_, polygon)| triangles_of(*polygon))
        .sum();
    assert_eq!(outer.triangles, triangles);
    faces
}

proptest! {
    #[test]
    fn surface_has_the_faces_that_a_count_of_all_faces_finds_once(
        cells in prop::collection::vec(a_cell(), 1..40)
    ) {
        prop_assert_eq!(found(&cells), model(&cells));
    }
}
