//! Lengths that are kept or restored: by bindings, by a rollback and by a restart.

use super::{Mixed, create, latest, lengths};
use ndarray::{Ix1, Ix2};
use tcasm_observer::Version;
use tcasm_producer::{Block, DefineError, Field, Producer, PublishError, RollbackError};
use tcasm_restart::{Load, rebuild};
use tcasm_tests::{PublishVisible, name, on_all_trackers};

#[test]
fn rollback_restores_lengths() {
    on_all_trackers(|tracker| {
        let name = name("back");
        let builder = Producer::builder(&name).capacity(4 << 20).versions(16);
        let mut p = builder.history(8).tracker(tracker).create().unwrap();
        let x = p.field::<f64, _>("x", [9000]).variable().add().unwrap();
        for (len, value) in [(9000, 1.0), (0, 2.0), (5, 3.0)] {
            p.set_len(x, len).unwrap();
            p.view_mut(x).unwrap().fill(value);
            p.publish_visible(len as u64, 0.0).unwrap();
        }
        for (number, len, value) in [(1, 9000, 1.0), (2, 0, 2.0), (3, 5, 3.0)] {
            p.rollback(number).unwrap();
            assert_eq!(p.len(x).unwrap(), len, "{tracker}");
            p.publish_visible(7, 0.0).unwrap();
            let view = latest(&p).view().unwrap();
            let x = view.array::<f64>("x").unwrap();
            assert_eq!((x.len(), x.sum()), (len, len as f64 * value), "{tracker}");
        }
    });
}

#[test]
fn rollback_to_lengths_that_a_later_mesh_forbids_changes_nothing() {
    let mut p = create(&name("back-before"));
    let x = p.field::<f64, _>("x", [9000]).variable().add().unwrap();
    let types = p.field::<u8, _>("types", [9]).variable().add().unwrap();
    let offsets = p.field::<u64, _>("offsets", [10]).variable().add().unwrap();
    let points = p.field::<f32, _>("points", [9, 3]).vector().variable();
    let points = points.add().unwrap();
    let cells = p.field::<u64, _>("cells", [9]).variable().add().unwrap();
    // In this version the offsets of the mesh lack their first value.
    p.publish_visible(1, 0.0).unwrap();
    p.set_len(x, 5).unwrap();
    let mesh = p.mixed_mesh("m", &points, &cells, &offsets, &types);
    mesh.add().unwrap();
    let error = p.rollback(1).unwrap_err();
    assert!(
        matches!(error, RollbackError::Mesh { version: 1, .. }),
        "{error}"
    );
    let lens = [p.len(offsets).unwrap(), p.len(x).unwrap()];
    assert_eq!(lens, [1, 5], "nothing has changed");
    p.publish_visible(2, 0.0).unwrap();
    assert_eq!(lengths(&latest(&p), ["offsets", "types"]), [1, 0]);
}

#[test]
fn rollback_to_places_that_the_table_has_no_room_for_changes_nothing() {
    let mut p = create(&name("back-full"));
    let x = p.field::<f64, _>("x", [9]).add().unwrap();
    let block = |far: i64| Block {
        of: "gas".to_owned(),
        level: 0,
        refinement: [2; 3],
        offset: [far; 3],
    };
    let mesh = p.uniform_mesh("b", [3; 3], [0.0; 3], [1.0; 3]);
    let mesh = mesh.block(block(1 << 60)).add().unwrap();
    p.publish_visible(1, 0.0).unwrap();
    p.set_block(&mesh, block(0)).unwrap();
    // An attribute takes all the room that is left.
    let most = 1 << 18;
    p.set_attr("long", "x".repeat(most));
    let error = p.publish_visible(2, 0.0).unwrap_err();
    let PublishError::Table(DefineError::TableSize { bytes, limit }) = error else {
        panic!("{error}");
    };
    p.set_attr("long", "x".repeat(most - (bytes - limit)));
    p.publish_visible(2, 0.0).unwrap();
    let error = p.rollback(1).unwrap_err();
    assert!(
        matches!(error, RollbackError::Table { version: 1, .. }),
        "{error}"
    );
    p.view_mut(x).unwrap().fill(3.0);
    p.publish_visible(3, 0.0).unwrap();
    assert_eq!(latest(&p).table().meshes[0].block, Some(block(0)));
}

#[test]
fn handed_over_fields_and_bound_buffers_have_lengths() {
    let mut p = Producer::builder(&name("handed"))
        .capacity(32 << 20)
        .create()
        .unwrap();
    let x = p.field::<f64, _>("x", [1000]).variable().handed_over();
    let x = x.add().unwrap();
    let y = p.field::<f64, _>("y", [1000]).variable().add().unwrap();
    let mut next = p.buffer_like(y).unwrap();
    let mut held = Vec::new();
    for step in 0..6u64 {
        let len = [3, 1000, 0][step as usize % 3];
        p.set_len(x, len).unwrap();
        p.set_len(y, len).unwrap();
        let mut view = p.rewrite(x).unwrap();
        view.iter_mut().take(len).for_each(|x| x.write(step as f64));
        assert_eq!(p.view(next).unwrap().len(), 1000, "buffers have no length");
        p.view_mut(next).unwrap().fill(step as f64);
        next = p.bind(y, next).unwrap();
        p.publish_visible(step, 0.0).unwrap();
        held.push((latest(&p), len, step as f64));
        for (version, len, value) in &held {
            let view = version.view().unwrap();
            for name in ["x", "y"] {
                let values = view.array::<f64>(name).unwrap();
                assert_eq!(values.len(), *len, "{name}");
                assert!(values.iter().all(|v| v == value), "{name}");
            }
        }
    }
}

#[test]
fn changes_name_fields_whose_length_changed() {
    let mut p = create(&name("changes"));
    let x = p.field::<f64, _>("x", [100]).variable().add().unwrap();
    p.field::<f64, _>("y", [100]).variable().add().unwrap();
    p.publish_visible(0, 0.0).unwrap();
    let before = latest(&p);
    p.set_len(x, 3).unwrap();
    p.publish_visible(1, 0.0).unwrap();
    assert_eq!(latest(&p).changes_since(&before).unwrap().fields, ["x"]);
}

/// Adds a mesh of cells with two of them, and particles with room for `room` of them. Returns the
/// positions of the particles and a field on them.
fn add_meshes(p: &mut Producer, room: usize) -> (Field<f64, Ix2>, Field<f64, Ix1>) {
    let mixed = Mixed::add(p);
    p.set_len(mixed.types, 2).unwrap();
    let x = p.field::<f64, _>("x", [room, 3]).vector().variable();
    let x = x.add().unwrap();
    let atoms = p.particles("atoms", &x).attr("mass", 39.9).add().unwrap();
    let v = p.field::<f64, _>("v", [room]).variable().on(&atoms);
    (x, v.add().unwrap())
}

/// Returns versions with 0 and 8 particles of a producer that is gone: its memory was mapped at the
/// address in this process.
fn states() -> [(Version, usize); 2] {
    let mut p = create(&name("before"));
    let (x, v) = add_meshes(&mut p, 100);
    // The geometry lies behind a field on it.
    let second = p.buffer_like(x).unwrap();
    p.bind(x, second).unwrap();
    p.publish_visible(1, 0.5).unwrap();
    let empty = latest(&p);
    p.set_len("atoms", 8).unwrap();
    p.view_mut(second).unwrap().fill(1.5);
    p.view_mut(v).unwrap().fill(2.5);
    p.publish_visible(2, 1.0).unwrap();
    [(empty, 0), (latest(&p), 8)]
}

#[test]
fn restart_keeps_meshes_capacities_and_lengths() {
    for (version, len) in states() {
        let mut p = rebuild(Producer::builder(&name("after")), &version).unwrap();
        p.publish_visible(3, 1.5).unwrap();
        let again = latest(&p);
        let by_name = |v: &Version| {
            let mut table = v.table().clone();
            table.fields.sort_by(|a, b| a.name.cmp(&b.name));
            table
        };
        assert_eq!(by_name(&again), by_name(&version));
        let view = again.view().unwrap();
        assert_eq!(view.array::<f64>("x").unwrap().sum(), len as f64 * 4.5);
        assert_eq!(view.array::<f64>("v").unwrap().sum(), len as f64 * 2.5);
        // It goes on with the room that it had.
        let atoms = p.mesh_handle("atoms").unwrap();
        p.set_len(atoms, 100).unwrap();
        assert!(p.set_len("atoms", 101).is_err());
        p.publish_visible(4, 2.0).unwrap();
        assert_eq!(lengths(&latest(&p), ["x", "v", "types"]), [100, 100, 2]);
    }
}

#[test]
fn load_sets_the_lengths_of_fields_that_the_program_has_added() {
    let [_, (full, _)] = states();
    let mut p = create(&name("own"));
    let (_, v) = add_meshes(&mut p, 200);
    p.set_len("types", 0).unwrap();
    p.load(&full).unwrap();
    let lens = ["x", "v", "offsets"].map(|field| p.len(field).unwrap());
    assert_eq!(lens, [8, 8, 3]);
    assert_eq!(p.view(v).unwrap().iter().sum::<f64>(), 8.0 * 2.5);
    let mut small = create(&name("small"));
    add_meshes(&mut small, 7);
    let error = small.load(&full).unwrap_err().to_string();
    assert!(
        error.contains("length 8") && error.contains("room for 7"),
        "{error}"
    );
}

#[test]
fn load_sets_the_lengths_of_a_state_or_none() {
    // In the state the fields have lengths of their own.
    let mut p = create(&name("apart"));
    for (field, len) in [("x", 8), ("u", 3)] {
        let added = p.field::<f64, _>(field, [100]).variable().add().unwrap();
        p.set_len(added, len).unwrap();
    }
    p.publish_visible(0, 0.0).unwrap();
    let apart = latest(&p);
    p.set_len("u", 8).unwrap();
    p.publish_visible(1, 0.0).unwrap();
    let equal = latest(&p);
    drop(p);
    // In the program they are on one mesh, together with one that the state does not have.
    let mut p = create(&name("together"));
    let x = p.field::<f64, _>("x", [100]).variable().add().unwrap();
    let atoms = p.particles("atoms", &x).add().unwrap();
    for field in ["u", "more"] {
        let on = p.field::<f64, _>(field, [100]).variable().on(&atoms);
        on.add().unwrap();
    }
    p.set_len(atoms, 2).unwrap();
    let lens = |p: &Producer| ["x", "u", "more"].map(|f| p.len(f).unwrap());
    let error = p.load(&apart).unwrap_err().to_string();
    assert!(error.contains("[3]") && error.contains("[8]"), "{error}");
    assert_eq!(lens(&p), [2; 3]);
    p.load(&equal).unwrap();
    assert_eq!(lens(&p), [8; 3]);
}
