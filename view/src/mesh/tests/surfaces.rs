//! Surfaces of unstructured meshes, and cells that have none.

use super::*;
use std::sync::Arc;
use tcasm_core::field::{CellType, Cells};

/// The corners of a cube, in the order of a hexahedron, and the same cube beside it along x.
fn cubes() -> [f64; 36] {
    let layer = |x: f64| [[x, 0.0, 0.0], [x, 1.0, 0.0], [x, 1.0, 1.0], [x, 0.0, 1.0]];
    let mut all = [0.0; 36];
    for (i, x) in [0.0, 1.0, 2.0].into_iter().enumerate() {
        all[12 * i..12 * i + 12].copy_from_slice(layer(x).as_flattened());
    }
    all
}

/// Returns a mesh of two hexahedra that share a face, with values on points and in cells.
fn two_cubes(connectivity: [i64; 16]) -> Made {
    let mut made = Made::default();
    made.add(("p", DType::F64), &[12, 3], &cubes());
    made.add(("c", DType::I64), &[2, 8], &connectivity);
    made.mesh(MeshKind::Unstructured {
        points: owned("p"),
        cells: Cells::Same {
            cell_type: CellType::HEXAHEDRON,
            connectivity: owned("c"),
        },
    });
    let values: Vec<f64> = (0..12).map(f64::from).collect();
    made.on("t", Centering::Point, &values);
    made.on("q", Centering::Cell, &[5.0, 7.0]);
    made.table.check_meshes().unwrap();
    made
}

const GOOD: [i64; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 8, 9, 10, 11];

#[test]
fn surface_lacks_the_faces_that_cells_share() {
    let made = two_cubes(GOOD);
    let scene = made.scene("t", 100).unwrap();
    let surface = scene.surface.unwrap();
    assert_eq!(
        surface.cells.len(),
        10 * 2,
        "ten of twelve faces, two triangles each"
    );
    assert_eq!(
        (surface.points.len(), scene.values.len(), scene.why),
        (12, 12, None)
    );
    let inner = |corners: &[u32; 3]| corners.iter().all(|corner| (4..8).contains(corner));
    assert!(!surface.corners.iter().any(inner));
    let in_cells = made.scene("q", 100).unwrap();
    let value = |i: usize| in_cells.base + f64::from(in_cells.values[i]);
    let values: Vec<f64> = (0..20).map(value).collect();
    assert_eq!(values, [[5.0; 10], [7.0; 10]].concat());
}

/// The number of cubes in a row. If all are equal, too many faces meet at a point.
const ROW: i32 = 200;

/// Returns a mesh of hexahedra between the points of a row of cubes, with a value in each cell.
/// `corners` returns the points of a cell.
fn row_of_cubes(corners: impl Fn(i32) -> [i32; 8]) -> Made {
    let places: Vec<f64> = (0..=ROW)
        .flat_map(|x| {
            [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[y, z]| [f64::from(x), y, z])
        })
        .flatten()
        .collect();
    let cells: Vec<i32> = (0..ROW).flat_map(corners).collect();
    let mut made = Made::default();
    made.add(("p", DType::F64), &[places.len() / 3, 3], &places);
    made.add(("c", DType::I32), &[ROW as usize, 8], &cells);
    made.mesh(MeshKind::Unstructured {
        points: owned("p"),
        cells: Cells::Same {
            cell_type: CellType::HEXAHEDRON,
            connectivity: owned("c"),
        },
    });
    made.on("q", Centering::Cell, &[1.0; ROW as usize]);
    made
}

#[test]
fn surface_of_many_cells_has_all_their_sides() {
    let made = row_of_cubes(|cell| [0, 1, 2, 3, 4, 5, 6, 7].map(|corner| 4 * cell + corner));
    let surface = made.scene("q", 10).unwrap().surface.unwrap();
    assert_eq!(surface.cells.len(), 2 * (4 * ROW as usize + 2));
    assert!(surface.cells.is_sorted() && surface.points.is_sorted());
}

#[test]
fn many_cells_that_are_all_equal_have_no_surface_and_points_are_shown() {
    for (corners, text) in [
        (
            [0, 1, 2, 3, 4, 5, 6, 7],
            "600 faces of mesh \"m\" have point 0 as their lowest corner",
        ),
        ([0; 8], "no cell of mesh \"m\" has a surface"),
        (
            [0, 1, 0, 1, 0, 1, 0, 1],
            "no cell of mesh \"m\" has a surface",
        ),
    ] {
        let scene = row_of_cubes(|_| corners).scene("q", 10).unwrap();
        let why = scene.why.unwrap();
        assert!(why.contains(text), "{why}");
        assert!(scene.surface.is_none() && !scene.positions.is_empty());
    }
}

#[test]
fn faces_of_a_hexahedron_whose_corners_coincide_are_those_of_a_wedge() {
    let wedge = [0, 1, 2, 3, 4, 5, 5, 4];
    let point = [8; 8];
    let cells: [i64; 16] = [wedge, point].concat().try_into().unwrap();
    let surface = two_cubes(cells).scene("t", 100).unwrap().surface.unwrap();
    // Two triangles and three squares.
    assert_eq!(surface.cells, [0; 2 + 3 * 2]);
    let differ = |[a, b, c]: &[u32; 3]| a != b && b != c && c != a;
    assert!(surface.corners.iter().all(differ), "{:?}", surface.corners);
    assert_eq!(surface.points, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn squares_without_an_extent_are_no_surface() {
    let mut made = Made::default();
    made.add(("p", DType::F64), &[12, 3], &cubes());
    made.add(
        ("c", DType::I32),
        &[3, 4],
        &[0, 0, 0, 0, 0, 1, 2, 3, 7, 8, 7, 8],
    );
    made.mesh(MeshKind::Unstructured {
        points: owned("p"),
        cells: Cells::Same {
            cell_type: CellType::QUAD,
            connectivity: owned("c"),
        },
    });
    made.on("q", Centering::Cell, &[1.0; 3]);
    let surface = made.scene("q", 10).unwrap().surface.unwrap();
    assert_eq!(surface.cells, [1, 1]);
}

/// Returns a mesh of a tetrahedron, a wedge on one of its faces, a square and a line.
pub(super) fn mixed(types: [u8; 4], offsets: [u32; 5]) -> Made {
    let mut made = Made::default();
    made.add(("p", DType::F64), &[12, 3], &cubes());
    let connectivity: [u32; 16] = [0, 1, 2, 3, 0, 1, 2, 4, 5, 6, 8, 9, 10, 11, 8, 9];
    made.add(("c", DType::U32), &[16, 1], &connectivity);
    made.add(("o", DType::U32), &[5, 1], &offsets);
    made.add(("k", DType::U8), &[4, 1], &types);
    made.mesh(MeshKind::Unstructured {
        points: owned("p"),
        cells: Cells::Mixed {
            connectivity: owned("c"),
            offsets: owned("o"),
            types: owned("k"),
        },
    });
    made.on("t", Centering::Point, &[0.0; 12]);
    made.on("q", Centering::Cell, &[0.0; 4]);
    made.table.check_meshes().unwrap();
    made
}

#[test]
fn surface_of_mixed_cells_has_the_flat_ones() {
    let surface = mixed([10, 13, 9, 3], [0, 4, 10, 14, 16])
        .scene("t", 9)
        .unwrap()
        .surface;
    let surface = surface.unwrap();
    // Three faces of the tetrahedron; one triangle and three squares of the wedge; a square.
    let of = |cell: u32| surface.cells.iter().filter(|c| **c == cell).count();
    assert_eq!([of(0), of(1), of(2), of(3)], [3, 7, 2, 0]);
}

#[test]
fn cells_that_cannot_be_are_reported_and_points_are_shown() {
    let mut far = GOOD;
    far[9] = 12;
    let mut negative = GOOD;
    negative[0] = -1;
    let good = [0, 4, 10, 14, 16];
    for (made, text) in [
        (
            two_cubes(far),
            "cell 1 of mesh \"m\" has the point 12; there are 12",
        ),
        (two_cubes(negative), "cell 0 of mesh \"m\" has the point -1"),
        (
            mixed([10, 13, 9, 3], [0, 4, 10, 17, 16]),
            "begins at 10 and ends at 17",
        ),
        (
            mixed([10, 13, 9, 3], [0, 4, 2, 14, 16]),
            "begins at 4 and ends at 2",
        ),
        (
            mixed([10, 13, 9, 99], good),
            "cell 3 of mesh \"m\" has VTK's type 99",
        ),
        (
            mixed([10, 12, 9, 3], good),
            "has 6 points, but VTK's type 12 has 8; check the offsets",
        ),
        (
            mixed([1, 1, 1, 1], [0, 1, 2, 3, 4]),
            "no cell of mesh \"m\" has a surface; give it cells",
        ),
    ] {
        let scene = made.scene("t", 100).unwrap();
        let why = scene.why.unwrap();
        assert!(why.contains(text), "{why}");
        assert_eq!((scene.surface, scene.positions.len()), (None, 12));
        let cells = made.scene("q", 100).unwrap();
        assert!(cells.cells && cells.surface.is_none() && cells.why.is_some());
    }
}

#[test]
fn surface_is_found_again_only_when_the_cells_change() {
    let mut made = two_cubes(GOOD);
    let mut cache = Cache::default();
    let mut find = |made: &Made| {
        let scene = made.scene_again("t", &wanted(9), &mut cache).unwrap();
        scene.surface.map(|surface| Arc::as_ptr(&surface) as usize)
    };
    let first = find(&made);
    // Points that move change no cell.
    made.version = 1;
    made.bytes[0].fill(0);
    assert_eq!(find(&made), first, "the same bytes");
    // The version knows that nothing has changed, so the bytes are not looked at.
    (made.version, made.same) = (2, true);
    let (mut other, good) = (GOOD, made.bytes[1].clone());
    other[15] = 12;
    made.bytes[1] = other.map(|point| point as u64).to_vec();
    assert_eq!(find(&made), first, "said to be the same");
    // After other versions in between, they are.
    made.version = 4;
    assert_eq!(find(&made), None, "a point that there is not");
    made.version = 6;
    made.bytes[1] = good;
    assert!(find(&made).is_some());
}

#[test]
fn surface_is_found_again_when_the_cells_are_in_another_buffer() {
    let mut made = two_cubes(GOOD);
    let (mut cache, mut version) = (Cache::default(), 0);
    let mut triangles = |connectivity: [i64; 16], offset: u64| {
        (made.version, made.same) = (version, true);
        version += 1;
        made.bytes[1] = connectivity.map(|point| point as u64).to_vec();
        made.table.fields[1].offset = offset;
        let scene = made.scene_again("t", &wanted(9), &mut cache).unwrap();
        scene
            .surface
            .map(|surface| (surface.cells.len(), Arc::as_ptr(&surface) as usize))
    };
    let first = triangles(GOOD, 0);
    // The second cell is a point. No page of this buffer has changed in this version.
    let mut one = GOOD;
    one[8..].fill(8);
    assert_eq!(triangles(one, 4096).map(|(count, _)| count), Some(12));
    assert_eq!(triangles(GOOD, 0).map(|(count, _)| count), Some(20));
    assert_eq!(first.map(|(count, _)| count), Some(20));
    let (before, copy) = (triangles(GOOD, 0), triangles(GOOD, 4096));
    assert_eq!(before, copy, "the bytes are the same");
}
