//! Fields whose lengths follow from a count of their mesh.

use super::{Mixed, create, latest, lengths};
use tcasm_producer::{CellType, DefineError, Producer};
use tcasm_tests::{PublishVisible, name};

#[test]
fn fields_that_share_a_count_change_together() {
    let mut p = create(&name("counts"));
    let mixed = Mixed::add(&mut p);
    let all = ["points", "t", "types", "p", "offsets", "connectivity"];
    p.publish_visible(0, 0.0).unwrap();
    let empty = latest(&p);
    assert_eq!(lengths(&empty, all), [0, 0, 0, 0, 1, 0]);
    assert_eq!(
        empty.view().unwrap().array::<i64>("offsets").unwrap()[[0]],
        0
    );
    p.set_len(mixed.mesh, 9).unwrap();
    p.set_len(mixed.pressure, 2).unwrap();
    p.set_len(mixed.connectivity, 12).unwrap();
    let connectivity = [0, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8].into_iter();
    let mut view = p.view_mut(mixed.connectivity).unwrap();
    view.iter_mut()
        .zip(connectivity)
        .for_each(|(to, i)| *to = i);
    let types = [CellType::TETRA, CellType::HEXAHEDRON].map(|t| t.0);
    let mut view = p.view_mut(mixed.types).unwrap();
    view.iter_mut().zip(types).for_each(|(to, t)| *to = t);
    p.publish_visible(1, 0.0).unwrap();
    let full = latest(&p);
    assert_eq!(lengths(&full, all), [9, 9, 2, 2, 3, 12]);
    assert_eq!(full.view().unwrap().bytes("types").unwrap(), [10, 12]);
    p.set_len("m", 0).unwrap();
    assert_eq!(lengths(&empty, all), [0, 0, 0, 0, 1, 0]);
    assert_eq!(lengths(&full, all), [9, 9, 2, 2, 3, 12]);
}

#[test]
fn counts_of_a_mesh_do_not_depend_on_each_other() {
    let mut p = create(&name("apart"));
    let mixed = Mixed::add(&mut p);
    p.set_len(mixed.mesh, 9).unwrap();
    p.set_len(mixed.pressure, 2).unwrap();
    let error = p.set_len("types", 41).unwrap_err();
    let DefineError::Length { len, capacity, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((len, capacity), (41, 40));
    p.set_len("types", 40).unwrap();
    let lens = |p: &Producer| ["offsets", "p", "t", "m"].map(|of| p.len(of).unwrap());
    assert_eq!(lens(&p), [41, 40, 9, 9]);
    p.set_len("m", 0).unwrap();
    assert_eq!(lens(&p), [41, 40, 0, 0]);
    assert_eq!(p.len(mixed.mesh).unwrap(), 0);
}

#[test]
fn field_that_is_added_late_has_the_length_of_its_mesh() {
    let mut p = create(&name("late"));
    let mixed = Mixed::add(&mut p);
    p.set_len(mixed.mesh, 7).unwrap();
    p.set_len(mixed.types, 3).unwrap();
    let on_points = p.field::<f32, _>("late", [50, 2]).vector().variable();
    let on_points = on_points.on(&mixed.mesh).add().unwrap();
    let in_cells = p.field::<f32, _>("later", [40]).variable().cell_centred();
    let in_cells = in_cells.on(&mixed.mesh).add().unwrap();
    let table = p
        .field::<f32, _>("table", [8])
        .no_centring()
        .on(&mixed.mesh);
    let table = table.variable().add().unwrap();
    let lens = [p.len(on_points), p.len(in_cells), p.len(table)];
    assert_eq!(lens.map(Result::unwrap), [7, 3, 0]);
    let small = p.field::<f32, _>("small", [6]).variable().on(&mixed.mesh);
    let error = small.add().unwrap_err();
    assert!(error.to_string().contains("longer"), "{error}");
}

#[test]
fn structured_meshes_may_grow_along_their_slowest_axis() {
    let mut p = create(&name("grows"));
    let x = p.field::<f64, _>("x", [3]).add().unwrap();
    let y = p.field::<f64, _>("y", [6]).variable().add().unwrap();
    let mesh = p.rectilinear_mesh("r", &[x, y]).add().unwrap();
    let t = p.field::<f64, _>("t", [3, 6]).fortran_order().variable();
    let t = t.on(&mesh).add().unwrap();
    let c = p.field::<f64, _>("c", [5, 2]).variable().cell_centred();
    let c = c.on(&mesh).add().unwrap();
    for (points, cells) in [(4, 3), (1, 1), (0, 0), (6, 5)] {
        p.set_len(mesh, points).unwrap();
        let lens = [p.len(y), p.len(t), p.len(c)];
        assert_eq!(lens.map(Result::unwrap), [points, points, cells]);
    }
    p.set_len(c, 2).unwrap();
    p.publish_visible(0, 0.0).unwrap();
    let version = latest(&p);
    let shape = |name| version.field(name).unwrap().shape.clone();
    assert_eq!(
        [shape("y"), shape("t"), shape("c")],
        [vec![3], vec![3, 3], vec![2, 2]]
    );
    let error = p.set_len(x, 2).unwrap_err();
    assert!(
        matches!(
            error,
            DefineError::FixedLength {
                len: 3,
                asked: 2,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn planes_may_have_a_third_axis_of_one_point() {
    let mut p = create(&name("plane"));
    let plane = p.uniform_mesh("plane", [4, 3, 1], [0.0; 3], [1.0; 3]);
    let plane = plane.add().unwrap();
    let t = p.field::<f64, _>("t", [1, 3, 4]).on(&plane);
    t.add().unwrap();
    let u = p.field::<f64, _>("u", [1, 3, 4]).variable().on(&plane);
    u.add().unwrap();
    let v = p.field::<f64, _>("v", [4, 3, 1]).fortran_order().on(&plane);
    v.add().unwrap();
    p.publish_visible(0, 0.0).unwrap();
    assert_eq!(lengths(&latest(&p), ["t", "u", "v"]), [1, 1, 1]);
}

#[test]
fn lengths_that_are_set_together_are_exactly_those() {
    let mut p = create(&name("lens"));
    let mixed = Mixed::add(&mut p);
    p.set_lens(&[("m", 5), ("types", 2), ("connectivity", 8)])
        .unwrap();
    let all = ["points", "t", "types", "p", "offsets", "connectivity"];
    let lens = |p: &Producer| all.map(|field| p.len(field).unwrap());
    assert_eq!(lens(&p), [5, 5, 2, 2, 3, 8]);
    // Three offsets are those of two cells.
    for wrong in [[("types", 4), ("offsets", 3)], [("t", 1), ("points", 51)]] {
        p.set_lens(&wrong).unwrap_err();
        assert_eq!(lens(&p), [5, 5, 2, 2, 3, 8]);
    }
    p.set_lens(&[("offsets", 5), ("types", 4)]).unwrap();
    assert_eq!(lens(&p), [5, 5, 4, 4, 5, 8]);
    p.set_lens(&[]).unwrap();
    p.set_len(mixed.mesh, 0).unwrap();
}

#[test]
fn number_of_cells_along_an_axis_does_not_change_a_given_number_of_points() {
    let mut p = create(&name("one-point"));
    let y = p.field::<f64, _>("y", [6]).variable().add().unwrap();
    let mesh = p.rectilinear_mesh("r", &[y]).add().unwrap();
    for (name, room) in [("c", 5), ("t", 6)] {
        let field = p.field::<f64, _>(name, [room]).variable().on(&mesh);
        match name {
            "c" => field.cell_centred().add().unwrap(),
            _ => field.add().unwrap(),
        };
    }
    // One cell lies between two points, or is that of one point.
    p.set_lens(&[("y", 1), ("c", 1)]).unwrap();
    assert_eq!(["y", "t", "c"].map(|f| p.len(f).unwrap()), [1, 1, 1]);
    p.set_len("c", 1).unwrap();
    assert_eq!(p.len("y").unwrap(), 1);
}

#[test]
fn length_of_what_has_none_is_an_error() {
    let mut p = create(&name("no-len"));
    let mut other = create(&name("no-len-other"));
    let grid = p.uniform_mesh("grid", [4, 3, 1], [0.0; 3], [1.0; 3]);
    let grid = grid.add().unwrap();
    let x = other.field::<f64, _>("x", [3]).add().unwrap();
    let fixed = p.len(grid).unwrap_err();
    assert!(matches!(fixed, DefineError::FixedMesh { .. }), "{fixed}");
    assert!(matches!(p.len(x).unwrap_err(), DefineError::Foreign));
    let unknown = p.len("nothing").unwrap_err();
    assert!(matches!(unknown, DefineError::NoField { .. }), "{unknown}");
    assert_eq!(other.len(x).unwrap(), 3);
}
