//! The sizes of meshes: those that no reader could count, and axes of a single point.

use super::tables::{grid, list, mesh, uniform};
use crate::field::*;

fn with_mesh(kind: MeshKind, fields: Vec<FieldDesc>) -> FieldTable {
    FieldTable {
        fields,
        meshes: vec![mesh("m", kind)],
        ..FieldTable::default()
    }
}

/// Returns a table with a rectilinear mesh that has so many points along x, y and z.
fn rectilinear(points: [usize; 3]) -> FieldTable {
    let names = ["x", "y", "z"];
    let fields = names.into_iter().zip(points);
    let fields = fields.map(|(name, n)| list(name, DType::F32, 1, n));
    let coordinates = names.map(str::to_owned).to_vec();
    with_mesh(MeshKind::Rectilinear { coordinates }, fields.collect())
}

/// Returns a table with a curvilinear mesh that has so many points, slowest axis first.
fn curvilinear(points: &[usize]) -> FieldTable {
    let mut at = grid("at", Order::C, points);
    at.components = 3;
    assert!(at.check().is_ok());
    let coordinates = at.name.clone();
    with_mesh(MeshKind::Curvilinear { coordinates }, vec![at])
}

#[test]
fn meshes_whose_points_no_reader_can_count_are_refused() {
    for table in [
        rectilinear([1 << 19; 3]),
        rectilinear([1 << 22; 3]), // more than 64 bits can count
        rectilinear([1 << 40, 1 << 40, 0]),
        curvilinear(&[1 << 57]),
        with_mesh(uniform([1 << 30, 1 << 30, 1]), Vec::new()),
    ] {
        let error = table.check_meshes().unwrap_err();
        assert!(matches!(error, MeshDescError::Points { .. }), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains("points") && text.contains("at most"),
            "{text}"
        );
    }
    assert_eq!(rectilinear([1 << 18; 3]).check_meshes(), Ok(()));
    assert_eq!(curvilinear(&[1 << 55]).check_meshes(), Ok(()));
}

/// Checks `table` with a field of these extents, slowest axis first, on its mesh.
fn with_field(
    table: &FieldTable,
    centering: Centering,
    extents: &[usize],
) -> Vec<Result<(), String>> {
    let check = |order| {
        let mut field = grid("t", order, extents);
        (field.on, field.centering) = (Some("m".to_owned()), centering);
        let mut table = table.clone();
        table.fields.push(field);
        table.check_meshes().map_err(|error| error.to_string())
    };
    [Order::C, Order::F].map(check).to_vec()
}

#[test]
fn leading_axes_of_one_point_may_be_there_or_not() {
    let plane = with_mesh(uniform([4, 3, 1]), Vec::new());
    for table in [plane, curvilinear(&[1, 3, 4]), curvilinear(&[3, 4])] {
        let check = |centering, extents: &[usize]| with_field(&table, centering, extents);
        for extents in [&[3, 4][..], &[1, 3, 4]] {
            assert_eq!(check(Centering::Point, extents), [Ok(()), Ok(())]);
        }
        for extents in [&[2, 3][..], &[1, 2, 3]] {
            assert_eq!(check(Centering::Cell, extents), [Ok(()), Ok(())]);
        }
        for wrong in [&[4, 3][..], &[3, 1, 4], &[3, 4, 1], &[1, 1, 3, 4], &[12]] {
            let errors = check(Centering::Point, wrong);
            assert!(errors.iter().all(Result::is_err), "{wrong:?}: {errors:?}");
        }
    }
    let line = with_mesh(uniform([4, 1, 1]), Vec::new());
    for extents in [&[4][..], &[1, 4], &[1, 1, 4]] {
        assert_eq!(with_field(&line, Centering::Point, extents)[0], Ok(()));
    }
}

#[test]
fn uniform_mesh_without_points_along_its_slowest_axis_is_unused() {
    let unused = [
        ([4, 3, 0], vec![0, 3, 4]),
        ([4, 0, 1], vec![0, 4]),
        ([0, 1, 1], vec![0]),
    ];
    for (points, extents) in unused {
        let table = with_mesh(uniform(points), Vec::new());
        assert_eq!(table.check_meshes(), Ok(()));
        let size = table.size_of(&table.meshes[0]).unwrap();
        assert!(size.is_empty() && size.points == extents, "{size:?}");
        let empty = with_field(&table, Centering::Point, &extents);
        assert_eq!(empty, [Ok(()), Ok(())]);
        let used = with_field(&table, Centering::Point, &[2, 3, 4]);
        assert!(used.iter().all(Result::is_err), "{used:?}");
    }
    for points in [[0, 3, 4], [4, 0, 2], [0, 0, 0], [0, 1, 2]] {
        let error = with_mesh(uniform(points), Vec::new()).check_meshes();
        let is_refused = matches!(error, Err(MeshDescError::Points { .. }));
        assert!(is_refused, "{points:?}: {error:?}");
    }
    // A field may have axes that the mesh lacks.
    let plane = with_mesh(uniform([4, 0, 1]), Vec::new());
    assert_eq!(with_field(&plane, Centering::Cell, &[0, 2, 3])[0], Ok(()));
    assert!(with_field(&plane, Centering::Cell, &[0, 4])[0].is_err());
}

#[test]
fn number_of_particles_is_not_an_axis_of_one_point() {
    let positions = "x".to_owned();
    let x = list("x", DType::F64, 3, 1);
    let one = with_mesh(MeshKind::Particles { positions }, vec![x]);
    assert_eq!(with_field(&one, Centering::Point, &[1])[0], Ok(()));
    for wrong in [&[][..], &[1, 1]] {
        assert!(with_field(&one, Centering::Point, wrong)[0].is_err());
    }
}

#[test]
fn error_of_a_shape_says_which_one_to_give() {
    let plane = with_mesh(uniform([4, 3, 1]), Vec::new());
    let errors = with_field(&plane, Centering::Point, &[4, 3]);
    let text = errors[0].clone().unwrap_err();
    let give = "give it [3, 4] in C order or [4, 3] in Fortran order";
    assert!(text.contains(give) && text.contains("variable()"), "{text}");
}
