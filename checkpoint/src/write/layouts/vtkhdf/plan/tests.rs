//! Tests of the meshes and fields that VTK shows.

use super::super::explicit::Counts;
use super::*;
use crate::write::layouts::grid::most_points;
use crate::write::layouts::vtkhdf::names::RESERVED;
use tcasm_core::field::{DType, Mesh};

/// Returns a table with uniform meshes of these names, and a vector in the cells of each.
fn uniform(names: &[&str]) -> FieldTable {
    let mut table = FieldTable::default();
    for name in names {
        let mut field = FieldDesc::new(&format!("v_of_{name}"), DType::F64, &[2, 3]);
        field.components = 3;
        field.centering = Centering::Cell;
        field.on = Some((*name).to_owned());
        table.fields.push(field);
        table.meshes.push(MeshDesc {
            name: (*name).to_owned(),
            kind: MeshKind::Uniform {
                points: [4, 3, 1],
                origin: [1.0; 3],
                spacing: [0.5; 3],
            },
            block: None,
            attrs: Default::default(),
        });
    }
    table.check_meshes().unwrap();
    table
}

/// Adds a field with a mesh of its own, which is on no named one.
fn add_free(table: &mut FieldTable) {
    let mut free = FieldDesc::new("free", DType::F32, &[5]);
    free.mesh = Some(Mesh::default());
    table.fields.push(free);
}

/// Returns the sizes of each mesh that is no image, and the shapes of the fields on all meshes.
fn sizes(plan: &Plan<'_>) -> (Vec<Counts>, Vec<Vec<usize>>) {
    let explicit = plan
        .meshes
        .iter()
        .filter_map(|shown| match &shown.geometry {
            Geometry::Explicit(explicit) => Some(explicit.counts),
            Geometry::Image(_) => None,
        });
    let data = plan.meshes.iter().flat_map(|shown| &shown.data);
    let shapes = data.map(|data| data.shape.clone());
    (explicit.collect(), shapes.collect())
}

#[test]
fn single_uniform_mesh_of_a_series_is_an_image() {
    let named = uniform(&["a"]);
    let mut free = FieldTable::default();
    add_free(&mut free);
    for table in [named, free] {
        let plan = Plan::of_series(&table, false);
        assert_eq!(plan, Plan::of(&table));
        assert!(matches!(plan.meshes[0].geometry, Geometry::Image(_)));
        let moving = Plan::of_series(&table, true);
        assert!(matches!(moving.meshes[0].geometry, Geometry::Explicit(_)));
    }
}

#[test]
fn several_uniform_meshes_of_a_series_are_images_unless_one_moves() {
    let mut table = uniform(&["a", "b"]);
    add_free(&mut table);
    let shapes = vec![vec![2, 3, 3], vec![2, 3, 3], vec![5]];
    assert_eq!(sizes(&Plan::of_series(&table, false)), (vec![], shapes));
    let plane = Counts {
        points: 12,
        cells: 6,
        ids: 24,
    };
    let line = Counts {
        points: 5,
        cells: 4,
        ids: 8,
    };
    let shapes = vec![vec![6, 3], vec![6, 3], vec![5]];
    let expected = (vec![plane, plane, line], shapes);
    assert_eq!(sizes(&Plan::of_series(&table, true)), expected);
}

#[test]
fn uniform_mesh_whose_size_may_change_is_an_image_in_a_file_and_has_points_in_a_series() {
    let mut table = uniform(&["a"]);
    table.fields[0].capacity = Some(2);
    let no_image = vec![Counts {
        points: 12,
        cells: 6,
        ids: 24,
    }];
    assert_eq!(sizes(&Plan::of(&table)), (vec![], vec![vec![2, 3, 3]]));
    let series = Plan::of_series(&table, false);
    assert_eq!(sizes(&series), (no_image, vec![vec![6, 3]]));
}

#[test]
fn unused_mesh_is_in_no_file_for_that_reason_and_has_no_points_in_a_series() {
    let mut table = uniform(&["a"]);
    (table.fields[0].capacity, table.fields[0].shape[0]) = (Some(2), 0);
    if let MeshKind::Uniform { points, .. } = &mut table.meshes[0].kind {
        points[1] = 0;
    }
    table.check_meshes().unwrap();
    let plan = Plan::of(&table);
    assert_eq!((plan.meshes.len(), plan.count()), (0, 1));
    let (name, why) = &plan.hidden[0];
    assert_eq!(*name, "v_of_a");
    assert!(why.ends_with("it is unused in this version"), "{why}");
    let series = Plan::of_series(&table, false);
    assert_eq!(sizes(&series), (vec![Counts::default()], vec![vec![0, 3]]));
    assert_eq!(most_points(&table, "a", [4, 0, 1]), [4, 3, 1]);
}

#[test]
fn table_whose_length_may_change_leaves_a_uniform_mesh_an_image() {
    let mut table = uniform(&["a"]);
    let mut sums = FieldDesc::new("sums", DType::F64, &[2]);
    (sums.on, sums.capacity) = (Some("a".to_owned()), Some(6));
    sums.centering = Centering::None;
    table.fields.push(sums);
    table.check_meshes().unwrap();
    let series = Plan::of_series(&table, false);
    assert!(matches!(series.meshes[0].geometry, Geometry::Image(_)));
}

#[test]
fn unused_mesh_of_which_vtk_would_show_nothing_makes_no_collection() {
    let mut table = uniform(&["a", "b"]);
    for (field, mesh) in table.fields.iter_mut().zip(&mut table.meshes).skip(1) {
        (field.capacity, field.shape[0]) = (Some(2), 0);
        field.dtype = DType::C64;
        if let MeshKind::Uniform { points, .. } = &mut mesh.kind {
            points[1] = 0;
        }
    }
    table.check_meshes().unwrap();
    assert_eq!(Plan::of(&table).count(), 1);
    table.fields[1].dtype = DType::F64;
    assert_eq!(Plan::of(&table).count(), 2);
}

#[test]
fn no_mesh_has_the_name_of_a_group_of_vtkhdf() {
    let table = uniform(&[&RESERVED[..], &["Steps_", "a"]].concat());
    let plan = Plan::of(&table);
    let names: Vec<&str> = plan.meshes.iter().map(|shown| &*shown.name).collect();
    let changed = [
        "Assembly_",
        "Steps_",
        "PointData_",
        "CellData_",
        "FieldData_",
    ];
    assert_eq!(names, [&changed[..], &["Steps__", "a"]].concat());
}
