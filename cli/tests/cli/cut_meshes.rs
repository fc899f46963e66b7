//! Tests of exports of a part of named meshes. VTK reads what they hold.

use crate::common::{Run, good, name, python};
use crate::follow::start as follow;
use ndarray::arr1;
use serde_json::{Value, json};
use std::path::Path;
use tcasm_checkpoint::Checkpoint;
use tcasm_core::field::CellType;
use tcasm_producer::Producer;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Creates a region with a mesh of each kind whose points have coordinates, and publishes it. All
/// values tell their places. They have few digits, so text has them exactly.
fn meshes(name: &str) -> Producer {
    let mut p = Producer::builder(name).capacity(1 << 20).create().unwrap();
    let x = p.field::<f64, _>("x", [5]).add().unwrap();
    let y = p.field::<f64, _>("y", [4]).add().unwrap();
    p.view_mut(x).unwrap().assign(&arr1(&X));
    p.view_mut(y).unwrap().assign(&arr1(&Y));
    let grid = p.rectilinear_mesh("r", &[x, y]).add().unwrap();
    let t = p.field::<f64, _>("t", [4, 5]).on(&grid).add().unwrap();
    let q = p.field::<f64, _>("q", [3, 4]).cell_centred().on(&grid);
    let q = q.add().unwrap();
    for ((j, i), t) in p.view_mut(t).unwrap().indexed_iter_mut() {
        *t = (10 * j + i) as f64;
    }
    for ((j, i), q) in p.view_mut(q).unwrap().indexed_iter_mut() {
        *q = (100 + 10 * j + i) as f64;
    }
    // Ghost layers: one before along y, and one after along x.
    let at = p.field::<f64, _>("at", [4, 5, 3]).vector();
    let at = at.ghosts(&[[1, 0], [0, 1]]).add().unwrap();
    let bent = p.curvilinear_mesh("c", &at).add().unwrap();
    let s = p.field::<f64, _>("s", [4, 3]).fortran_order().on(&bent);
    let s = s.add().unwrap();
    for ((j, i, xyz), at) in p.view_mut(at).unwrap().indexed_iter_mut() {
        *at = place(j as f64 - 1.0, i as f64)[xyz];
    }
    for ((i, j), s) in p.view_mut(s).unwrap().indexed_iter_mut() {
        *s = (1000 + 10 * j + i) as f64;
    }
    p.publish(1, 0.0).unwrap();
    p
}

/// The coordinates of the rectilinear mesh.
const X: [f64; 5] = [0.0, 1.0, 4.0, 9.0, 16.0];
const Y: [f64; 4] = [-1.0, 0.5, 2.0, 4.25];

/// Returns the coordinates of a point of the curvilinear mesh.
fn place(j: f64, i: f64) -> [f64; 3] {
    [i + 0.25 * j, 2.0 * j - 0.125 * i, 0.5 * i * j]
}

/// Reads a file with one data set with VTK. Returns for each version its points, the bounds of its
/// cells (along x, y and z), and its arrays.
pub fn with_vtk(path: &Path) -> Vec<Value> {
    let read: Run = python("read_mesh.py").arg(path).output().unwrap().into();
    assert_eq!((read.code, read.err.as_str()), (0, ""), "{read:?}");
    serde_json::from_str(&read.out).unwrap()
}

/// Exports `fields` of the region, and the part that `args` select. Returns the lines about them.
fn export(name: &str, path: &Path, fields: &str, args: &[&str]) -> Vec<String> {
    let all = ["export", name, text(path), "--force", "--fields", fields];
    let out = good(&[&all[..], args].concat()).out;
    let lines = out.lines().skip(1).map(|line| line.trim().to_owned());
    lines.collect()
}

#[test]
fn part_of_a_rectilinear_mesh_has_its_values_at_their_coordinates() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("cut-rectilinear"));
    let _p = meshes(&name);
    let path = dir.path().join("part.vtkhdf");
    let lines = export(&name, &path, "t", &["--slice", "1::2,1:4"]);
    let expected = [
        "x  /VTKHDF/Points",
        "y  /VTKHDF/Points",
        "t  /VTKHDF/PointData/t",
    ];
    assert_eq!(lines, expected);
    let at = |j: usize, i: usize| [X[i], Y[j], 0.0];
    let around = |j: [usize; 2], i: [usize; 2]| [X[i[0]], X[i[1]], Y[j[0]], Y[j[1]], 0.0, 0.0];
    let expected = json!([{
        "points": [at(1, 1), at(1, 2), at(1, 3), at(3, 1), at(3, 2), at(3, 3)],
        "cells": [around([1, 3], [1, 2]), around([1, 3], [2, 3])],
        "point_data": {"t": [11.0, 12.0, 13.0, 31.0, 32.0, 33.0]},
        "cell_data": {},
    }]);
    assert_eq!(json!(with_vtk(&path)), expected);
    let checkpoint = Checkpoint::open(&path).unwrap();
    checkpoint.verify().unwrap();
    let lacking = checkpoint.table().lacking.iter();
    let lacking: Vec<&str> = lacking.map(|f| f.name.as_str()).collect();
    assert_eq!(lacking, ["x", "y", "t", "q", "at", "s"]);

    // The values of cells have the points around them.
    export(&name, &path, "q", &["--slice", "1:,2"]);
    let expected = json!([{
        "points": [at(1, 2), at(1, 3), at(2, 2), at(2, 3), at(3, 2), at(3, 3)],
        "cells": [around([1, 2], [2, 3]), around([2, 3], [2, 3])],
        "point_data": {},
        "cell_data": {"q": [112.0, 122.0]},
    }]);
    assert_eq!(json!(with_vtk(&path)), expected);
}

#[test]
fn part_of_a_curvilinear_mesh_has_its_values_at_their_coordinates() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("cut-curvilinear"));
    let _p = meshes(&name);
    let path = dir.path().join("part.vtkhdf");
    // The field is in Fortran's order: x comes first.
    export(&name, &path, "s", &["--slice", "1:,1", "--stride", "2"]);
    let [first, second] = [place(1.0, 1.0), place(1.0, 3.0)];
    let read = with_vtk(&path);
    assert_eq!(read[0]["points"], json!([first, second]));
    assert_eq!(read[0]["point_data"], json!({"s": [1011.0, 1013.0]}));
    assert_eq!(read[0]["cells"].as_array().unwrap().len(), 1, "a line");
}

#[test]
fn part_that_does_not_fit_the_mesh_of_the_file_is_named() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("cut-unfit"));
    let mut p = meshes(&name);
    let at = p.field::<f64, _>("corners", [4, 3]).vector();
    let at = at.add().unwrap();
    let ids = p.field::<i64, _>("ids", [1, 4]).vector().add().unwrap();
    let mesh = p.unstructured_mesh("m", &at, CellType::TETRA, &ids);
    let mesh = mesh.add().unwrap();
    let u = p.field::<f64, _>("u", [4]).on(&mesh);
    u.add().unwrap();
    p.publish(2, 0.1).unwrap();
    let path = dir.path().join("part.vtkhdf");
    let lines = export(&name, &path, "t,q", &["--slice", "1:3"]);
    let why = "its part is not on the points of the part of mesh r; export it to a file of its own";
    assert_eq!(lines[3], format!("q  not shown in ParaView: {why}"));
    assert_eq!(with_vtk(&path)[0]["cell_data"], json!({}));
    for (field, stride, line) in [
        (
            "q",
            "2",
            "mesh r  not stored, because no part of its points fits the fields on it",
        ),
        ("u", "2", "mesh m  not stored, because its points are cut"),
    ] {
        let lines = export(&name, &path, field, &["--stride", stride]);
        assert_eq!(lines, [line]);
        let table = Checkpoint::open(&path).unwrap().table().clone();
        assert!(table.meshes.is_empty() && table.fields.len() == 1);
        assert_eq!(table.fields[0].on, None);
    }
}

#[test]
fn series_has_a_part_of_the_particles_of_each_version() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("cut-particles"));
    let builder = Producer::builder(&name).capacity(1 << 20);
    let mut p = builder.versions(64).history(60).create().unwrap();
    let x = p.field::<f64, _>("x", [9, 3]).vector().variable();
    let x = x.add().unwrap();
    let atoms = p.particles("atoms", &x).add().unwrap();
    let v = p.field::<f32, _>("v", [9, 3]).vector().variable();
    let v = v.on(&atoms).quantity("velocity").add().unwrap();
    let id = p.field::<i64, _>("id", [9]).variable().on(&atoms);
    let id = id.add().unwrap();
    let at = |step: u64, i: usize| [step as f64, i as f64, -0.5];
    let path = dir.path().join("run.vtkhdf");
    let run = follow(&name, &path, &["--fields", "v,id", "--slice", "1::2"]);
    let lens = [4, 7, 2];
    for (step, len) in (1..).zip(lens) {
        p.set_len(atoms, len).unwrap();
        for ((i, xyz), x) in p.view_mut(x).unwrap().indexed_iter_mut() {
            *x = at(step, i)[xyz];
        }
        for ((i, xyz), v) in p.view_mut(v).unwrap().indexed_iter_mut() {
            *v = -at(step, i)[xyz] as f32;
        }
        for (i, id) in p.view_mut(id).unwrap().indexed_iter_mut() {
            *id = 100 * step as i64 + i as i64;
        }
        p.publish(step, step as f64).unwrap();
    }
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let read = with_vtk(&path);
    assert_eq!(read.len(), lens.len());
    for ((step, len), read) in (1..).zip(lens).zip(&read) {
        let taken: Vec<usize> = (1..len).step_by(2).collect();
        let points: Vec<_> = taken.iter().map(|i| at(step, *i)).collect();
        assert_eq!(read["points"], json!(points), "step {step}");
        let velocity: Vec<_> = points.iter().map(|at| at.map(|x| -x)).collect();
        let ids: Vec<_> = taken.iter().map(|i| 100 * step + *i as u64).collect();
        let data = json!({"velocity": velocity, "id": ids});
        assert_eq!(read["point_data"], data, "step {step}");
    }
}
