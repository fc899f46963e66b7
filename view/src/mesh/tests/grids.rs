//! Slices and lines of rectilinear and curvilinear meshes.

use super::*;
use crate::image::image;
use crate::request::Slice;

/// Returns the places of the samples of a slice of the field `v`.
pub(super) fn grid_of(made: &Made, slice: &Slice) -> Grid {
    let (desc, bytes) = made.get("v").unwrap();
    let (mesh, place) = mesh_of(&made.table, desc).unwrap();
    let lattice = lattice(made, mesh).unwrap().unwrap();
    let image = image(desc, bytes, None, slice).unwrap();
    grid(
        &lattice,
        desc.shape.len(),
        place == Place::Cells,
        slice,
        &image,
    )
}

fn corners(grid: &Grid, axis: usize) -> Vec<f64> {
    let place = |corner: &[f32; 3]| grid.origin[axis] + f64::from(corner[axis]);
    grid.corners.iter().map(place).collect()
}

/// Returns a rectilinear mesh of 4 times 3 points, with a field on them or in its cells.
fn rectilinear(centering: Centering) -> Made {
    let mut made = Made::default();
    made.add(("x", DType::F64), &[4, 1], &[0.0, 1.0, 3.0, 7.0]);
    made.add(("y", DType::F32), &[3, 1], &[10.0_f32, 20.0, 40.0]);
    made.mesh(MeshKind::Rectilinear {
        coordinates: vec![owned("x"), owned("y")],
    });
    let less = usize::from(centering == Centering::Cell);
    let values = vec![0.0; (3 - less) * (4 - less)];
    let desc = made.add(("v", DType::F64), &[3 - less, 4 - less, 1], &values);
    (desc.on, desc.centering) = (Some("m".to_owned()), centering);
    made.table.check_meshes().unwrap();
    made
}

fn whole(pixels: [usize; 2]) -> Slice {
    Slice {
        axes: [0, 1],
        at: vec![0, 0],
        pixels,
        ..Slice::default()
    }
}

#[test]
fn samples_on_points_reach_to_the_middle_of_their_neighbours() {
    let grid = grid_of(&rectilinear(Centering::Point), &whole([3, 4]));
    assert_eq!(grid.size, [4, 5]);
    assert_eq!(corners(&grid, 0)[..5], [0.0, 0.5, 2.0, 5.0, 7.0]);
    let y: Vec<f64> = corners(&grid, 1).into_iter().step_by(5).collect();
    assert_eq!(y, [10.0, 15.0, 30.0, 40.0]);
    let blocks = grid_of(&rectilinear(Centering::Point), &whole([1, 2]));
    assert_eq!((blocks.size, blocks.invalid_points), ([2, 3], 0));
    assert_eq!(corners(&blocks, 0)[..3], [0.0, 2.0, 7.0]);
}

#[test]
fn samples_in_cells_have_the_corners_of_their_cells() {
    let grid = grid_of(&rectilinear(Centering::Cell), &whole([2, 3]));
    assert_eq!(grid.size, [3, 4]);
    assert_eq!(corners(&grid, 0)[..4], [0.0, 1.0, 3.0, 7.0]);
    let window = Slice {
        cols: Some([1, 3]),
        ..whole([2, 3])
    };
    let part = grid_of(&rectilinear(Centering::Cell), &window);
    assert_eq!(corners(&part, 0)[..3], [1.0, 3.0, 7.0]);
}

#[test]
fn line_along_a_rectilinear_axis_has_its_coordinates() {
    let of = |centering, axis, block, samples| {
        let made = rectilinear(centering);
        let lattice = lattice(&made, &made.table.meshes[0]).unwrap().unwrap();
        places(
            &lattice,
            2,
            centering == Centering::Cell,
            axis,
            block,
            samples,
        )
    };
    assert_eq!(of(Centering::Point, 1, 1, 4), [0.0, 1.0, 3.0, 7.0]);
    assert_eq!(of(Centering::Point, 1, 3, 2), [1.5, 7.0]);
    assert_eq!(of(Centering::Cell, 1, 1, 3), [0.5, 2.0, 5.0]);
    assert_eq!(of(Centering::Cell, 0, 2, 1), [25.0]);
}

/// Returns a curvilinear mesh of 3 times 2 times 2 points (z, y, x), which leans with z.
pub(super) fn curvilinear(places: impl Fn([usize; 3]) -> [f64; 3]) -> Made {
    let mut made = Made::default();
    let mut points = Vec::new();
    for z in 0..3 {
        for y in 0..2 {
            points.extend([0, 1].map(|x| places([z, y, x])));
        }
    }
    made.add(("g", DType::F64), &[3, 2, 2, 3], points.as_flattened());
    made.mesh(MeshKind::Curvilinear {
        coordinates: owned("g"),
    });
    let desc = made.add(("v", DType::F64), &[3, 2, 2, 1], &[1.0; 12]);
    desc.on = Some("m".to_owned());
    made.table.check_meshes().unwrap();
    made
}

#[test]
fn slice_of_a_curvilinear_mesh_is_where_its_points_are() {
    let lean = |[z, y, x]: [usize; 3]| [(x + 10 * z) as f64, y as f64, z as f64];
    let made = curvilinear(lean);
    let slice = Slice {
        axes: [1, 2],
        at: vec![2, 0, 0],
        pixels: [2, 2],
        ..Slice::default()
    };
    let grid = grid_of(&made, &slice);
    assert_eq!(corners(&grid, 0)[..3], [20.0, 20.5, 21.0]);
    assert!(corners(&grid, 2).iter().all(|z| *z == 2.0));
    let hole = curvilinear(|at| {
        if at == [2, 0, 0] {
            [f64::NAN; 3]
        } else {
            lean(at)
        }
    });
    let grid = grid_of(&hole, &slice);
    assert_eq!(
        grid.invalid_points, 4,
        "the corners to which the point belongs"
    );
    assert_eq!(grid.bounds, Some([[20.0, 0.0, 2.0], [21.0, 1.0, 2.0]]));
}
