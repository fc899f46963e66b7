//! Declarations that are refused.

use super::{create, latest};
use tcasm_producer::{CellType, DefineError, MeshDescError, Producer};
use tcasm_tests::{PublishVisible, name};

#[test]
fn refused_declarations_leave_the_producer_usable() {
    let mut p = create(&name("refused"));
    let mut other = create(&name("other"));
    let x = p
        .field::<f64, _>("x", [10, 3])
        .vector()
        .variable()
        .add()
        .unwrap();
    let ids = p.field::<u64, _>("ids", [10]).add().unwrap();
    let atoms = p.particles("atoms", &x).add().unwrap();
    let grid = p.uniform_mesh("grid", [4, 3, 1], [0.0; 3], [1.0; 3]);
    let grid = grid.add().unwrap();
    p.set_len(atoms, 4).unwrap();
    p.publish_visible(1, 0.0).unwrap();
    let before = latest(&p);

    let mut errors = vec![
        p.particles("ids", &x).add().unwrap_err(),
        p.particles("atoms", &x).add().unwrap_err(),
        p.particles("a b", &x).add().unwrap_err(),
        p.particles("wrong", &ids).add().unwrap_err(),
        p.unstructured_mesh("wrong", &x, CellType::TETRA, &ids)
            .add()
            .unwrap_err(),
        p.unstructured_mesh("wrong", &x, CellType(42), &ids)
            .add()
            .unwrap_err(),
        p.uniform_mesh("wrong", [4, 0, 1], [0.0; 3], [1.0; 3])
            .add()
            .unwrap_err(),
        p.uniform_mesh("wrong", [4, 4, 1], [0.0; 3], [0.0; 3])
            .add()
            .unwrap_err(),
        p.field::<u8, _>("atoms", [4]).add().unwrap_err(),
        p.field::<u8, _>("wrong", [5]).on(&atoms).add().unwrap_err(),
        p.field::<u8, _>("wrong", [4, 3])
            .on(&grid)
            .add()
            .unwrap_err(),
        p.field::<u8, _>("wrong", [3, 4])
            .cell_centred()
            .on(&grid)
            .add()
            .unwrap_err(),
        p.field::<u8, _>("wrong", [4])
            .on(&atoms)
            .quantity("a/b")
            .add()
            .unwrap_err(),
        p.field::<u8, _>("wrong", [4])
            .on(&atoms)
            .mesh([0.0; 3], [1.0; 3])
            .add()
            .unwrap_err(),
        p.field::<u8, _>("wrong", [0usize; 0])
            .variable()
            .add()
            .unwrap_err(),
        p.field::<u8, _>("wrong", [0]).variable().add().unwrap_err(),
        p.field::<u8, _>("wrong", [9])
            .variable()
            .ghosts(&[[1, 1]])
            .add()
            .unwrap_err(),
        p.set_len(atoms, 11).unwrap_err(),
        p.set_len(ids, 3).unwrap_err(),
        p.set_len(grid, 3).unwrap_err(),
        p.set_len("nothing", 3).unwrap_err(),
        p.mesh_handle("nothing").unwrap_err(),
    ];
    let foreign = [
        other.particles("wrong", &x).add().unwrap_err(),
        other
            .field::<u8, _>("wrong", [4])
            .on(&atoms)
            .add()
            .unwrap_err(),
        other.set_len(x, 3).unwrap_err(),
        other.set_len(atoms, 3).unwrap_err(),
    ];
    assert!(
        foreign
            .iter()
            .all(|error| matches!(error, DefineError::Foreign)),
        "{foreign:?}"
    );
    errors.extend(foreign);
    let texts: Vec<String> = errors.iter().map(DefineError::to_string).collect();
    assert!(texts.iter().all(|text| text.len() > 20), "{texts:?}");

    // Nothing has changed: the next version has the same table.
    p.publish_visible(2, 0.0).unwrap();
    assert_eq!(latest(&p).table(), before.table());
    let v = p.field::<f64, _>("wrong", [10]).variable().on(&atoms);
    let v = v.add().unwrap();
    p.view_mut(v).unwrap().fill(2.0);
    p.publish_visible(3, 0.0).unwrap();
    assert_eq!(
        latest(&p)
            .view()
            .unwrap()
            .array::<f64>("wrong")
            .unwrap()
            .sum(),
        8.0
    );
}

#[test]
fn refused_declarations_take_no_memory() {
    let mut p = Producer::builder(&name("full"))
        .capacity(1 << 20)
        .create()
        .unwrap();
    let grid = p.uniform_mesh("grid", [4, 3, 1], [0.0; 3], [1.0; 3]);
    let grid = grid.add().unwrap();
    for _ in 0..5 {
        let large = p.field::<u8, _>("large", [1 << 19]).on(&grid);
        let error = large.add().unwrap_err();
        let is_shape = matches!(error, DefineError::Mesh(MeshDescError::Shape { .. }));
        assert!(is_shape, "{error}");
    }
    p.field::<u8, _>("large", [1 << 20]).add().unwrap();
}
