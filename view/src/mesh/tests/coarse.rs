//! Surfaces with more triangles than are wanted.

use super::super::cells::CellList;
use super::super::points::{Places, Points};
use super::super::surface::{Most, surface};
use super::*;
use std::sync::Arc;
use tcasm_core::field::{CellType, Cells};

/// Squares along each side of a sheet.
const SIDE: usize = 100;
/// Number of triangles of the sheet.
const ALL: usize = 2 * SIDE * SIDE;

/// Returns a sheet of squares, with values on points (`t`) and in cells (`q`).
fn sheet() -> Made {
    let places = (0..=SIDE).flat_map(|y| (0..=SIDE).map(move |x| [x as f64, y as f64, 0.0]));
    let places: Vec<[f64; 3]> = places.collect();
    let cell = |number: usize| {
        let first = number / SIDE * (SIDE + 1) + number % SIDE;
        [first, first + 1, first + SIDE + 2, first + SIDE + 1].map(|point| point as i32)
    };
    let cells: Vec<i32> = (0..SIDE * SIDE).flat_map(cell).collect();
    let mut made = Made::default();
    made.add(("p", DType::F64), &[places.len(), 3], places.as_flattened());
    made.add(("c", DType::I32), &[SIDE * SIDE, 4], &cells);
    made.mesh(MeshKind::Unstructured {
        points: owned("p"),
        cells: Cells::Same {
            cell_type: CellType::QUAD,
            connectivity: owned("c"),
        },
    });
    made.on("t", Centering::Point, &vec![1.0; places.len()]);
    made.on("q", Centering::Cell, &vec![1.0; SIDE * SIDE]);
    made.table.check_meshes().unwrap();
    made
}

/// Computes a scene whose surface has at most so many triangles.
fn shown(made: &Made, field: &str, triangles: usize, cache: &mut Cache) -> Scene {
    let wanted = SceneRequest {
        triangles,
        ..wanted(100)
    };
    made.scene_again(field, &wanted, cache).unwrap()
}

fn shown_once(made: &Made, field: &str, triangles: usize) -> Scene {
    shown(made, field, triangles, &mut Cache::default())
}

/// Returns the area of the triangles of a scene in the plane of x and y.
fn area(scene: &Scene) -> f64 {
    let corners = &scene.surface.as_ref().unwrap().corners;
    let of = |corners: &[u32; 3]| {
        let [a, b, c] = corners.map(|corner| scene.positions[corner as usize].map(f64::from));
        ((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])).abs() / 2.0
    };
    corners.iter().map(of).sum()
}

#[test]
fn surface_at_the_limit_is_whole_and_beyond_it_coarser() {
    let made = sheet();
    let whole = shown_once(&made, "q", ALL);
    let surface = whole.surface.as_ref().unwrap();
    assert_eq!((surface.corners.len(), surface.all), (ALL, ALL));
    assert!(surface.merged.is_none());
    let coarse = shown_once(&made, "q", ALL - 1);
    let surface = coarse.surface.as_ref().unwrap();
    assert_eq!((surface.all, &coarse.why), (ALL, &None));
    assert!(surface.corners.len() < ALL && surface.merged.is_some());
}

#[test]
fn coarser_surface_has_the_shape_of_the_whole() {
    let made = sheet();
    for most in [5000, 1000, 200] {
        let scene = shown_once(&made, "q", most);
        let surface = scene.surface.as_ref().unwrap();
        let (count, full) = (surface.corners.len(), (SIDE * SIDE) as f64);
        assert!(count <= most && count > most / 20, "{count} of {most}");
        assert_eq!((surface.cells.len(), scene.values.len()), (count, count));
        assert!(surface.points.is_sorted() && surface.cells.is_sorted());
        // It has no holes. Only at the borders, up to a box is lacking.
        let share = area(&scene) / full;
        assert!((0.5..=1.0).contains(&share), "{share} at {most}");
    }
    let share = area(&shown_once(&made, "q", 5000)) / (SIDE * SIDE) as f64;
    assert!(share > 0.9, "{share}");
}

#[test]
fn coarser_surface_stays_when_points_move_a_bit_and_values_change() {
    let mut made = sheet();
    let mut cache = Cache::default();
    let mut find = |made: &Made| shown(made, "t", 1000, &mut cache).surface.unwrap();
    let first = find(&made);
    let scale = |made: &mut Made, factor: f64| {
        for word in &mut made.bytes[0] {
            *word = (f64::from_bits(*word) * factor).to_bits();
        }
        made.version += 1;
    };
    scale(&mut made, 1.5);
    made.bytes[2].fill(7.0_f64.to_bits());
    assert!(Arc::ptr_eq(&first, &find(&made)));
    scale(&mut made, 4.0);
    let other = find(&made);
    assert!(!Arc::ptr_eq(&first, &other), "much larger");
}

#[test]
fn value_that_is_not_finite_is_seen_on_a_coarser_surface() {
    // Some of these points are the first of their boxes, others are not.
    for at in [0, 5151, 7 * SIDE + 3, SIDE * SIDE - 1] {
        for (field, bytes) in [("t", 2), ("q", 3)] {
            let mut made = sheet();
            made.bytes[bytes][at] = f64::NAN.to_bits();
            let scene = shown_once(&made, field, 1000);
            assert_eq!(scene.not_finite, 1);
            let bad = scene.values.iter().filter(|value| value.is_nan()).count();
            assert!((1..=12).contains(&bad), "{bad} values for {field} {at}");
        }
    }
}

#[test]
fn points_without_a_place_are_left_out_and_counted() {
    let mut made = sheet();
    made.bytes[0][3 * 5151] = f64::NAN.to_bits();
    let scene = shown_once(&made, "t", 1000);
    assert_eq!(scene.invalid_points, 1);
    assert!(scene.positions.as_flattened().iter().all(|x| x.is_finite()));
    assert!(area(&scene) > 0.5 * (SIDE * SIDE) as f64);
}

#[test]
fn pieces_that_are_too_small_are_points() {
    let mut made = sheet();
    made.bytes[0].fill(0);
    let scene = shown_once(&made, "q", 1000);
    let why = scene.why.unwrap();
    assert!(why.contains("has 20000 triangles"), "{why}");
    assert!(scene.surface.is_none() && !scene.positions.is_empty());
    // Few triangles are not enough for any box.
    assert!(shown_once(&sheet(), "q", 1).surface.is_none());
}

#[test]
fn surface_of_too_many_cells_is_not_looked_for() {
    let made = sheet();
    let [points, connectivity] = ["p", "c"].map(|name| made.get(name).unwrap());
    let points = Points::of(points.0, points.1).unwrap();
    let list = CellList::same("m", points.count(), CellType::QUAD, connectivity).unwrap();
    let of = |cells: usize| {
        let triangles = MAX_TRIANGLES;
        surface(&list, &points, Most { cells, triangles })
    };
    assert_eq!(of(SIDE * SIDE).unwrap().all, ALL);
    let error = of(SIDE * SIDE - 1).unwrap_err().to_string();
    let text = "10000 cells; a surface is shown of at most 9999 cells";
    assert!(error.contains(text), "{error}");
}

#[test]
fn surface_of_few_cells_between_too_many_points_is_not_looked_for() {
    let made = sheet();
    let [points, connectivity] = ["p", "c"].map(|name| made.get(name).unwrap());
    let points = Points::of(points.0, points.1).unwrap();
    let (cells, triangles) = (SIDE * SIDE, MAX_TRIANGLES);
    let of = |count: usize| {
        let list = CellList::same("m", count, CellType::QUAD, connectivity).unwrap();
        surface(&list, &points, Most { cells, triangles })
    };
    assert_eq!(of(8 * cells).unwrap().all, ALL);
    let error = of(8 * cells + 1).unwrap_err().to_string();
    assert!(error.contains("10000 cells and 80000 points"), "{error}");
}
