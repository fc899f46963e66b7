//! Meshes with good and with hostile geometry.

use super::*;
use crate::image::image;
use crate::request::{SceneRequest, Slice};
use proptest::prelude::*;
use std::sync::Arc;
use tcasm_core::field::{
    CellType, Cells, Centering, DType, FieldDesc, FieldTable, MeshDesc, MeshKind,
};

/// Fields in the memory of the test. Their bytes are aligned.
#[derive(Default)]
struct Made {
    table: FieldTable,
    bytes: Vec<Vec<u64>>,
    version: u64,
    /// True if the version says that no field has changed.
    same: bool,
}

impl Fields for Made {
    fn table(&self) -> &FieldTable {
        &self.table
    }
    fn get(&self, name: &str) -> Result<(&FieldDesc, &[u8]), MeshError> {
        let at = self
            .table
            .fields
            .iter()
            .position(|field| field.name == name);
        let at = at.ok_or_else(|| MeshError::Field(format!("no {name}")))?;
        let (desc, bytes) = (
            &self.table.fields[at],
            bytemuck::cast_slice(&self.bytes[at]),
        );
        Ok((desc, &bytes[..desc.bytes() as usize]))
    }
    fn version(&self) -> u64 {
        self.version
    }
    fn same_as_before(&self, _: &[&str]) -> bool {
        self.same
    }
}

impl Made {
    /// Adds a field. `shape` has its components as the last extent.
    fn add<T: bytemuck::NoUninit>(
        &mut self,
        (name, dtype): (&str, DType),
        shape: &[usize],
        values: &[T],
    ) -> &mut FieldDesc {
        let (components, shape) = shape.split_last().unwrap();
        let mut desc = FieldDesc::new(name, dtype, shape);
        desc.components = *components;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        assert_eq!(bytes.len() as u64, desc.bytes());
        let mut aligned = vec![0_u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut::<u64, u8>(&mut aligned)[..bytes.len()].copy_from_slice(bytes);
        self.bytes.push(aligned);
        self.table.fields.push(desc);
        self.table.fields.last_mut().unwrap()
    }

    fn on(&mut self, name: &str, centering: Centering, values: &[f64]) {
        let desc = self.add((name, DType::F64), &[values.len(), 1], values);
        (desc.on, desc.centering) = (Some("m".to_owned()), centering);
    }

    fn mesh(&mut self, kind: MeshKind) {
        self.table.meshes.push(MeshDesc {
            name: "m".to_owned(),
            kind,
            block: None,
            attrs: Default::default(),
        });
    }

    fn scene(&self, name: &str, points: usize) -> Result<Scene, MeshError> {
        let wanted = SceneRequest {
            points,
            surface: true,
        };
        scene(self, name, None, &wanted, &mut Cache::default())
    }
}

fn owned(name: &str) -> String {
    name.to_owned()
}

/// Returns particles with these coordinates along one axis, and values.
fn particles(places: &[f64], values: &[f64]) -> Made {
    let mut made = Made::default();
    made.add(("x", DType::F64), &[places.len(), 1], places);
    made.mesh(MeshKind::Particles {
        positions: owned("x"),
    });
    made.on("v", Centering::Point, values);
    made.table.check_meshes().unwrap();
    made
}

#[test]
fn particles_have_places_and_values() {
    let made = particles(&[0.0, f64::NAN, 4.0], &[1e9, 1e9 + 1.0, 1e9 + 2.0]);
    let scene = made.scene("v", 10).unwrap();
    assert_eq!(
        (scene.all, scene.placeless, &*scene.numbers),
        (3, 1, &[0, 2][..])
    );
    assert_eq!(scene.bounds, Some([[0.0; 3], [4.0, 0.0, 0.0]]));
    let place = |i: usize| scene.origin[0] + f64::from(scene.positions[i][0]);
    assert_eq!([place(0), place(1)], [0.0, 4.0]);
    let value = |i: usize| scene.base + f64::from(scene.values[i]);
    assert_eq!([value(0), value(1)], [1e9, 1e9 + 2.0]);
    assert_eq!((scene.range, scene.not_finite), (Some([1e9, 1e9 + 2.0]), 0));
    let places = made.scene("x", 10).unwrap();
    assert_eq!(places.range, Some([0.0, 4.0]), "positions are values, too");
}

#[test]
fn particles_without_any_place_are_an_empty_scene() {
    for places in [vec![], vec![f64::INFINITY; 4]] {
        let made = particles(&places, &places);
        let scene = made.scene("v", 2).unwrap();
        assert_eq!(
            (scene.bounds, scene.positions.len(), scene.range),
            (None, 0, None)
        );
        assert_eq!(scene.placeless, places.len());
    }
}

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

#[test]
fn surface_of_many_cells_is_found_part_by_part() {
    // A row of hexahedra has more faces than are sorted at once, and every inner one is shared.
    let count = 200;
    let places: Vec<f64> = (0..=count)
        .flat_map(|x| {
            [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(|[y, z]| [f64::from(x), y, z])
        })
        .flatten()
        .collect();
    let cells: Vec<i32> = (0..count)
        .flat_map(|cell| (0..8).map(move |i| 4 * cell + i))
        .collect();
    let mut made = Made::default();
    made.add(("p", DType::F64), &[places.len() / 3, 3], &places);
    made.add(("c", DType::I32), &[count as usize, 8], &cells);
    made.mesh(MeshKind::Unstructured {
        points: owned("p"),
        cells: Cells::Same {
            cell_type: CellType::HEXAHEDRON,
            connectivity: owned("c"),
        },
    });
    made.on("q", Centering::Cell, &vec![1.0; count as usize]);
    let surface = made.scene("q", 10).unwrap().surface.unwrap();
    assert_eq!(surface.cells.len(), 2 * (4 * count as usize + 2));
    assert!(surface.cells.is_sorted() && surface.points.is_sorted());
}

/// Returns a mesh of a tetrahedron, a wedge on one of its faces, a square and a line.
fn mixed(types: [u8; 4], offsets: [u32; 5]) -> Made {
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
            "has 6 points, but VTK's type 12 has 8",
        ),
        (
            mixed([1, 1, 1, 1], [0, 1, 2, 3, 4]),
            "no cell of mesh \"m\" has a surface",
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
    let wanted = SceneRequest {
        points: 9,
        surface: true,
    };
    let mut find = |made: &Made| {
        let scene = scene(made, "t", None, &wanted, &mut cache).unwrap();
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

/// Returns the places of the samples of a slice of the field `v`.
fn grid_of(made: &Made, slice: &Slice) -> Grid {
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
    assert_eq!((blocks.size, blocks.placeless), ([2, 3], 0));
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
fn curvilinear(places: impl Fn([usize; 3]) -> [f64; 3]) -> Made {
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
    assert_eq!(grid.placeless, 4, "the corners to which the point belongs");
    assert_eq!(grid.bounds, Some([[20.0, 0.0, 2.0], [21.0, 1.0, 2.0]]));
}

/// Numbers that geometry should not have, among others.
fn hostile() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        Just(f64::NAN),
        Just(f64::NEG_INFINITY),
        Just(1e300),
        Just(-1e30),
        -10.0..10.0,
    ]
}

proptest! {
    #[test]
    fn hostile_particles_are_drawn_or_counted(
        places in proptest::collection::vec(hostile(), 0..200),
        most in 1_usize..50,
    ) {
        let scene = particles(&places, &places).scene("v", most).unwrap();
        prop_assert!(scene.positions.len() <= most);
        prop_assert!(scene.placeless + scene.positions.len() <= places.len());
        prop_assert!(scene.positions.as_flattened().iter().all(|x| x.is_finite()));
        prop_assert_eq!(scene.positions.is_empty(), scene.bounds.is_none());
        Raster::of_points(&scene, [1, 0], [7, 9]);
    }

    #[test]
    fn hostile_cells_are_a_surface_or_an_error(
        connectivity in proptest::collection::vec(
            prop_oneof![4 => 0..12_u32, 1 => any::<u32>()], 16,
        ),
        offsets in proptest::collection::vec(prop_oneof![4 => 0..17_u32, 1 => any::<u32>()], 5),
        types in proptest::collection::vec(
            prop_oneof![4 => Just(10_u8), 1 => Just(14), 1 => any::<u8>()], 4,
        ),
        points in proptest::collection::vec(hostile(), 36),
    ) {
        let types = [types[0], types[1], types[2], types[3]];
        let mut made = mixed(types, [0, 4, 8, 12, 16]);
        let aligned = |bytes: &[u8]| -> Vec<u64> {
            bytes.chunks(8).map(|word| {
                let mut all = [0; 8];
                all[..word.len()].copy_from_slice(word);
                u64::from_le_bytes(all)
            }).collect()
        };
        made.bytes[0] = points.iter().map(|x| x.to_bits()).collect();
        made.bytes[1] = aligned(bytemuck::cast_slice(&connectivity));
        if offsets[0] % 2 == 0 {
            made.bytes[2] = aligned(bytemuck::cast_slice(&offsets));
        }
        for field in ["t", "q"] {
            let scene = made.scene(field, 5).unwrap();
            match &scene.surface {
                Some(surface) => {
                    let count = surface.points.len() as u32;
                    prop_assert!(surface.corners.as_flattened().iter().all(|c| *c < count));
                    prop_assert_eq!(scene.positions.len() as u32, count);
                    prop_assert!(surface.cells.iter().all(|cell| *cell < 4));
                }
                None => prop_assert!(scene.why.is_some() && scene.positions.len() <= 5),
            }
        }
    }

    #[test]
    fn hostile_grids_have_a_corner_for_each_sample(
        points in proptest::collection::vec(hostile(), 36),
        pixels in [1_usize..4, 1_usize..4],
        at in 0_usize..3,
    ) {
        let made = curvilinear(|[z, y, x]| {
            let first = 3 * (4 * z + 2 * y + x);
            [points[first], points[first + 1], points[first + 2]]
        });
        let slice = Slice { axes: [1, 2], at: vec![at, 0, 0], pixels, ..Slice::default() };
        let grid = grid_of(&made, &slice);
        prop_assert_eq!(grid.corners.len(), grid.size[0] * grid.size[1]);
        let (desc, bytes) = made.get("v").unwrap();
        let image = image(desc, bytes, None, &slice).unwrap();
        let raster = Raster::of_grid(&image, &grid, [5, 6]);
        prop_assert_eq!(raster.values.len(), 30);
    }
}
