//! Tests of regions with named meshes and fields of variable length.

use crate::common::{bad, good, json, name};
use serde_json::json;
use tcasm_producer::ndarray::Ix2;
use tcasm_producer::{Block, Field, MeshHandle, Producer};

/// Creates a region with particles, which have none at first, and a block of a grid.
pub fn region(name: &str) -> (Producer, MeshHandle, Field<f64, Ix2>) {
    let mut p = Producer::builder(name).capacity(1 << 20).create().unwrap();
    let x = p.field::<f64, _>("x", [100, 3]).vector().variable();
    let x = x.unit("nm").add().unwrap();
    let atoms = p
        .particles("atoms", &x)
        .attr("species", "Ar")
        .add()
        .unwrap();
    let v = p.field::<f32, _>("v", [100, 3]).vector().variable();
    v.on(&atoms).quantity("velocity").add().unwrap();
    let block = Block {
        of: "amr".to_owned(),
        level: 1,
        refinement: [2, 2, 1],
        offset: [4, -2, 0],
    };
    let grid = p.uniform_mesh("grid", [5, 4, 1], [0.0, 1.0, 0.0], [0.5; 3]);
    let grid = grid.block(block).add().unwrap();
    let rho = p.field::<f64, _>("rho", [3, 4]).cell_centred().on(&grid);
    rho.add().unwrap();
    (p, atoms, x)
}

#[test]
fn info_lists_meshes_and_lengths() {
    let name = name("meshes");
    let (mut p, atoms, _) = region(&name);
    p.set_len(atoms, 7).unwrap();
    p.publish(1, 0.0).unwrap();
    let info = json(&["info", &name, "--json"]);
    let atoms = json!({
        "name": "atoms", "kind": "particles", "points": [7], "cells": [0],
        "geometry": ["x"], "fields": ["v"], "attrs": {"species": "Ar"},
    });
    let grid = json!({
        "name": "grid", "kind": "uniform", "points": [4, 5], "cells": [3, 4],
        "uniform": {"origin": [0.0, 1.0, 0.0], "spacing": [0.5, 0.5, 0.5]},
        "geometry": [], "fields": ["rho"], "attrs": {},
        "block": {"of": "amr", "level": 1, "refinement": [2, 2, 1], "offset": [4, -2, 0]},
    });
    assert_eq!(info["meshes"], json!([atoms, grid]));
    let [x, v, rho] = info["fields"].as_array().unwrap().as_slice() else {
        panic!("{info}");
    };
    assert_eq!((&x["length"], &x["capacity"]), (&json!(7), &json!(100)));
    assert_eq!((&x["shape"], &x["bytes"]), (&json!([7]), &json!(7 * 24)));
    assert_eq!(
        (&v["on"], &v["quantity"]),
        (&json!("atoms"), &json!("velocity"))
    );
    assert!(
        rho.get("length").is_none() && rho.get("capacity").is_none(),
        "{rho}"
    );
    let text = good(&["info", &name]).out;
    let line = |word: &str| {
        text.lines()
            .find(|l| l.trim_start().starts_with(word))
            .unwrap()
    };
    let v = line("v ");
    assert!(
        v.contains("7, length at most 100") && v.contains("atoms, as velocity"),
        "{text}"
    );
    let grid = line("grid ");
    assert!(
        grid.contains("4 x 5") && grid.contains("3 x 4") && grid.contains("level 1 of amr"),
        "{text}"
    );
}

#[test]
fn field_of_length_0_can_be_looked_at() {
    let name = name("none");
    let (mut p, atoms, x) = region(&name);
    p.publish(1, 0.0).unwrap();
    let stats = json(&["stats", &name, "x", "--json"]);
    assert_eq!((&stats["count"], &stats["shape"]), (&json!(0), &json!([0])));
    assert!(stats["min"].is_null() && stats["mean"].is_null(), "{stats}");
    for slice in ["...", ":", "::2,0"] {
        assert!(
            good(&["dump", &name, "x", "--slice", slice])
                .out
                .contains("no values")
        );
        assert_eq!(
            json(&["stats", &name, "x", "--slice", slice, "--json"])["count"],
            0
        );
    }
    good(&["stats", &name, "x"]);
    assert!(good(&["dump", &name, "x", "--raw", "-"]).bytes.is_empty());
    let numpy = good(&["dump", &name, "x", "--npy", "-"]).bytes;
    assert!(String::from_utf8_lossy(&numpy).contains("(0, 3)"));
    let error = bad(&["dump", &name, "x", "--slice", "0"], 2);
    assert!(error.contains("axis 0 of length 0"), "{error}");

    p.set_len(atoms, 2).unwrap();
    p.view_mut(x).unwrap().fill(1.5);
    p.publish(2, 0.0).unwrap();
    let stats = json(&["stats", &name, "x", "--component", "0", "--json"]);
    assert_eq!((&stats["count"], &stats["max"]), (&json!(2), &json!(1.5)));
    assert_eq!(
        good(&["dump", &name, "x", "--raw", "-"]).bytes.len(),
        2 * 24
    );
}
