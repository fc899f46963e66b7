//! Checks the order of the finite elements, and that refined meshes are whole.

use std::collections::BTreeMap;
use tcasm_examples::fem::{
    Element, Heat, Mesh, Plate, SIDE, Size, Storage, boundary, l_shape, refine,
};

/// Creates the arrays of a run at time 0.
fn begun(heat: &mut Heat) -> (Storage, Size) {
    let mut arrays = Storage::new(heat.room());
    let size = heat.fill(arrays.views());
    (arrays, size)
}

/// The simulated time at which errors are compared, in s.
const END: f64 = 30.0;

/// Returns the error at the end on a mesh of `n` points along each square.
fn error_with(n: usize) -> f64 {
    let mut heat = Heat::new(n, u64::MAX);
    let (mut arrays, size) = begun(&mut heat);
    let mut plate = Plate::of(arrays.views(), size);
    while heat.time() < END {
        // Shorter steps than necessary: the error is that of the mesh.
        let dt = (0.5 * heat.dt()).min(END - heat.time());
        heat.advance(&mut plate, dt);
    }
    heat.error(&plate)
}

#[test]
fn error_falls_with_the_square_of_the_size_of_triangles() {
    let [coarse, middle, fine] = [6, 12, 24].map(error_with);
    assert!((1e-4..20.0).contains(&coarse), "{coarse} K");
    for (larger, smaller) in [(coarse, middle), (middle, fine)] {
        let ratio = larger / smaller;
        assert!(
            (3.2..5.0).contains(&ratio),
            "{larger} / {smaller} = {ratio}"
        );
    }
}

/// Computes to the end in the longest stable steps. Refines the mesh in the first one if `refined`.
fn error_of_run(refined: bool) -> f64 {
    let mut heat = Heat::new(8, 2);
    let (mut arrays, first) = begun(&mut heat);
    let mut size = heat.step(arrays.views(), first, if refined { 2 } else { 1 });
    assert_eq!(size != first, refined);
    while heat.time() < END {
        size = heat.step(arrays.views(), size, 1);
    }
    heat.error(&Plate::of(arrays.views(), size))
}

#[test]
fn refined_run_is_stable_and_stays_near_the_solution() {
    let [whole, refined] = [false, true].map(error_of_run);
    assert!(refined < 1.5 * whole, "{refined} K, and {whole} K without");
}

/// Checks that a mesh covers the plate once, without points in the middle of edges.
fn assert_whole(plate: &Plate<'_>) {
    let mut edges: BTreeMap<[i64; 2], usize> = BTreeMap::new();
    let mut area = 0.0;
    for triangle in &*plate.triangles {
        let element = Element::of(plate.points, *triangle);
        assert!(element.area > 0.0, "{triangle:?} is not counter-clockwise");
        area += element.area;
        let [a, b, c] = *triangle;
        for (a, b) in [(a, b), (b, c), (c, a)] {
            *edges.entry([a.min(b), a.max(b)]).or_default() += 1;
        }
    }
    assert!((area - 3.0 * SIDE * SIDE).abs() < 1e-12, "{area} m^2");
    assert!(edges.values().all(|count| (1..=2).contains(count)));
    // An edge with a point in its middle would be an edge of the plate.
    let length = |[a, b]: &[i64; 2]| {
        let [a, b] = [a, b].map(|i| plate.points[*i as usize]);
        (a[0] - b[0]).hypot(a[1] - b[1])
    };
    let outer = edges.iter().filter(|(_, count)| **count == 1);
    let around: f64 = outer.map(|(edge, _)| length(edge)).sum();
    assert!((around - 8.0 * SIDE).abs() < 1e-12, "{around} m");
    let holes = plate.points.len() + plate.triangles.len() - edges.len();
    assert_eq!(holes, 1, "Euler's formula");
}

#[test]
fn refined_meshes_are_whole_and_stay_within_their_room() {
    let mut heat = Heat::new(4, 10);
    let (mut arrays, mut size) = begun(&mut heat);
    let mut sizes = vec![size];
    for step in 1..=100 {
        size = heat.step(arrays.views(), size, step);
        if sizes.last() != Some(&size) {
            assert_whole(&Plate::of(arrays.views(), size));
            sizes.push(size);
        }
    }
    assert!(sizes.len() > 2, "{sizes:?}");
    let room = heat.room();
    for size in &sizes {
        assert!(size.points <= room.points && size.triangles <= room.triangles);
    }
    let ascending = |pair: &[Size]| pair[0].points < pair[1].points;
    assert!(sizes.windows(2).all(ascending), "{sizes:?}");
}

/// Returns arrays that have room for `mesh` four times, with this mesh.
fn arrays_of(mesh: &Mesh) -> Storage {
    let size = mesh.size();
    let mut arrays = Storage::new(Size {
        points: 4 * size.points,
        triangles: 4 * size.triangles,
    });
    assert!(Plate::write(arrays.views(), mesh).is_some());
    arrays
}

#[test]
fn all_triangles_refined_are_four_times_as_many_and_keep_linear_functions() {
    let linear = |[x, y, _]: [f64; 3]| 2.0 + 3.0 * x + 5.0 * y;
    let mut mesh = l_shape(3);
    mesh.temperature = mesh.points.iter().map(|x| linear(*x)).collect();
    let mut arrays = arrays_of(&mesh);
    let plate = Plate::of(arrays.views(), mesh.size());
    let finer = refine(&plate, &vec![true; mesh.triangles.len()]);
    assert_eq!(finer.triangles.len(), 4 * mesh.triangles.len());
    for (point, t) in finer.points.iter().zip(&finer.temperature) {
        assert!((t - linear(*point)).abs() < 1e-12);
    }
    let mut arrays = arrays_of(&finer);
    assert_whole(&Plate::of(arrays.views(), finer.size()));
}

#[test]
fn mesh_without_triangles_to_refine_stays_and_its_edge_is_found() {
    let mesh = l_shape(3);
    let mut arrays = arrays_of(&mesh);
    let plate = Plate::of(arrays.views(), mesh.size());
    assert_eq!(refine(&plate, &vec![false; mesh.triangles.len()]), mesh);
    let outer = boundary(&plate).iter().filter(|outer| **outer).count();
    assert_eq!((outer, mesh.points.len()), (8 * 3, 7 * 7 - 3 * 3));
    assert_whole(&plate);
}

#[test]
fn basis_functions_have_the_gradients_of_linear_functions() {
    let points = [[0.1, 0.2, 0.0], [0.9, 0.1, 0.0], [0.4, 0.8, 0.0]];
    let element = Element::of(&points, [0, 1, 2]);
    let [x, y] = element.gradient(points.map(|[x, y, _]| 4.0 * x - 7.0 * y + 1.0));
    assert!(
        (x - 4.0).abs() < 1e-12 && (y + 7.0).abs() < 1e-12,
        "{x} {y}"
    );
    assert!((element.area - 0.255).abs() < 1e-12, "{}", element.area);
}
