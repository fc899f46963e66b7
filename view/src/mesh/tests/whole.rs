//! Values that are not finite, among more than a screen can show.

use super::*;
use tcasm_core::field::{CellType, Cells};

/// Number of points, of which few are shown.
const COUNT: usize = 200_000;
const SHOWN: usize = 1000;

/// Returns particles on a line whose values are their places, but those with these numbers.
fn line(bad: &[(usize, f64)]) -> Made {
    let places: Vec<f64> = (0..COUNT).map(|i| i as f64).collect();
    let mut values = places.clone();
    for (number, value) in bad {
        values[*number] = *value;
    }
    particles(&places, &values)
}

fn is_shown(scene: &Scene, number: usize) -> bool {
    let at = scene.numbers.binary_search(&(number as u32));
    at.is_ok_and(|at| !scene.values[at].is_finite())
}

#[test]
fn single_value_that_is_not_finite_is_shown_and_counted_among_many() {
    // Not one of them is chosen by chance.
    let usual = line(&[]).scene("v", SHOWN).unwrap().numbers;
    let hidden = |number: &usize| usual.binary_search(&(*number as u32)).is_err();
    let number = (100_000..COUNT).find(hidden).unwrap();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let scene = line(&[(number, value)]).scene("v", SHOWN).unwrap();
        assert!(is_shown(&scene, number), "{value}");
        assert_eq!(scene.not_finite, 1);
        assert!(scene.numbers.len() <= SHOWN && scene.numbers.is_sorted());
    }
}

#[test]
fn range_is_that_of_all_values() {
    let usual = line(&[]).scene("v", SHOWN).unwrap();
    assert_eq!(usual.range, Some([0.0, (COUNT - 1) as f64]));
    let scene = line(&[(12_345, -7.0), (54_321, 1e9)]).scene("v", SHOWN);
    assert_eq!(scene.unwrap().range, Some([-7.0, 1e9]));
}

#[test]
fn many_values_that_are_not_finite_leave_room_for_the_others() {
    let all: Vec<(usize, f64)> = (0..COUNT / 2).map(|i| (i, f64::NAN)).collect();
    let scene = line(&all).scene("v", SHOWN).unwrap();
    assert_eq!(scene.not_finite, COUNT as u64 / 2);
    let bad = scene.values.iter().filter(|value| value.is_nan()).count();
    assert!(bad > SHOWN / 8 && bad < SHOWN * 3 / 4, "{bad}");
    assert!(scene.numbers.len() <= SHOWN);
}

#[test]
fn value_that_is_not_finite_without_a_place_is_only_counted() {
    let mut made = line(&[(7, f64::NAN)]);
    made.bytes[0][7] = f64::NAN.to_bits();
    let scene = made.scene("v", SHOWN).unwrap();
    assert_eq!((scene.not_finite, scene.invalid_points), (1, 1));
    assert!(scene.values.iter().all(|value| value.is_finite()));
}

/// Returns a row of tetrahedra on top of each other: each shares a face with the next one.
fn tower(values: &[f64]) -> Made {
    let count = values.len();
    let corner = |i: usize| [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]][i % 3];
    let points: Vec<f64> = (0..count + 3)
        .flat_map(|i| [corner(i)[0], corner(i)[1], i as f64])
        .collect();
    let cells: Vec<i32> = (0..count as i32)
        .flat_map(|i| [i, i + 1, i + 2, i + 3])
        .collect();
    let mut made = Made::default();
    made.add(("p", DType::F64), &[count + 3, 3], &points);
    made.add(("c", DType::I32), &[count, 4], &cells);
    made.mesh(MeshKind::Unstructured {
        points: owned("p"),
        cells: Cells::Same {
            cell_type: CellType::TETRA,
            connectivity: owned("c"),
        },
    });
    made.on("q", Centering::Cell, values);
    made
}

#[test]
fn values_in_all_cells_count_and_the_cells_of_a_surface_are_marked() {
    let mut values = vec![1.0; 30];
    (values[11], values[12]) = (f64::NAN, 9.0);
    let made = tower(&values);
    let scene = made.scene("q", 10).unwrap();
    assert_eq!((scene.not_finite, scene.range), (1, Some([1.0, 9.0])));
    let surface = scene.surface.as_ref().unwrap();
    let of = surface.cells.iter().zip(&scene.values);
    let bad: Vec<u32> = of.filter(|(_, v)| v.is_nan()).map(|(c, _)| *c).collect();
    assert_eq!(bad, [11, 11], "two of four faces are on the surface");
    // As points, a few of the cells are shown.
    let few = SceneRequest {
        surface: false,
        ..wanted(16)
    };
    let scene = made.scene_again("q", &few, &mut Cache::default()).unwrap();
    assert!(scene.cells && is_shown(&scene, 11));
    assert_eq!((scene.not_finite, scene.range), (1, Some([1.0, 9.0])));
}
