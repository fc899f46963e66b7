//! Tests of what is stored of a version: some fields, or a part of each.

use crate::checkpoint::start;
use crate::common::{bad, good, line, name, publish, tcasm, until};
use crate::follow::start as follow;
use ndarray::{Ix1, Ix2};
use std::path::Path;
use tcasm_checkpoint::Checkpoint;
use tcasm_producer::{Field, Producer};
use tcasm_restart::{Load, Restore};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Creates a region with the field `u` of 4 x 6 numbers on a mesh, and `v` of 10 without one, and
/// publishes it. The numbers of `u` are ten times the row, plus the column.
fn region(name: &str) -> Producer {
    let mut p = Producer::builder(name).capacity(1 << 20).create().unwrap();
    let u = p.field::<f64, _>("u", [4, 6]);
    let u = u.mesh([1.0, 2.0, 0.0], [0.5, 0.25, 1.0]).add().unwrap();
    let v: Field<i32, _> = p.field("v", [10]).add().unwrap();
    for ((j, i), u) in p.view_mut(u).unwrap().indexed_iter_mut() {
        *u = (10 * j + i) as f64;
    }
    p.view_mut(v).unwrap().fill(7);
    p.publish(10, 0.1).unwrap();
    p
}

fn numbers(at: &hdf5::Location, name: &str) -> Vec<f64> {
    at.attr(name).unwrap().read_raw().unwrap()
}

#[test]
fn part_of_a_field_is_exported_with_its_place() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("part"));
    let _p = region(&name);
    let path = dir.path().join("one.vtkhdf");
    let export = ["export", &name, text(&path), "--fields", "u", "--as", "f32"];
    good(&[&export[..], &["--slice", "1:4,::2"]].concat());
    let file = hdf5::File::open(&path).unwrap();
    let image = file.group("VTKHDF").unwrap();
    assert_eq!(numbers(&image, "Origin"), [1.0, 2.25, 0.0]);
    assert_eq!(numbers(&image, "Spacing"), [1.0, 0.25, 1.0]);
    let u = image.dataset("PointData/u").unwrap();
    assert_eq!(u.shape(), [3, 3]);
    assert!(u.dtype().unwrap().is::<f32>());
    let values: Vec<f32> = u.read_raw().unwrap();
    assert_eq!(
        values,
        [10.0, 12.0, 14.0, 20.0, 22.0, 24.0, 30.0, 32.0, 34.0]
    );
    assert!(image.dataset("PointData/v").is_err());
    // HDF5 opens a file only once at a time with other settings.
    drop((image, u));
    file.close().unwrap();
    let checkpoint = Checkpoint::open(&path).unwrap();
    checkpoint.verify().unwrap();
    let lacking = checkpoint.table().lacking.iter();
    assert_eq!(
        lacking.map(|f| f.name.as_str()).collect::<Vec<_>>(),
        ["u", "v"]
    );
}

#[test]
fn plane_of_an_openpmd_mesh_keeps_its_place() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("plane"));
    let _p = region(&name);
    let path = dir.path().join("one.h5");
    let export = ["export", &name, text(&path), "--fields", "u"];
    good(&[&export[..], &["--slice", "-1", "--stride", "3"]].concat());
    let file = hdf5::File::open(&path).unwrap();
    let u = file.dataset("data/10/meshes/u").unwrap();
    assert_eq!(u.shape(), [1, 2]);
    assert_eq!(u.read_raw::<f64>().unwrap(), [30.0, 33.0]);
    // From slowest to fastest: y, x.
    assert_eq!(numbers(&u, "gridGlobalOffset"), [2.75, 1.0]);
    assert_eq!(numbers(&u, "gridSpacing"), [0.25, 1.5]);
}

#[test]
fn parts_that_the_fields_do_not_have_are_refused() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("no-part"));
    let _p = region(&name);
    let path = dir.path().join("one.vtkhdf");
    for mode in [&["--follow"][..], &[]] {
        let export = [&["export", &name, text(&path)], mode].concat();
        let refused = |more: &[&str], code| bad(&[&export[..], more].concat(), code);
        let unknown = refused(&["--fields", "u,w"], 7);
        assert!(
            unknown.contains("\"w\"") && unknown.contains("\"v\""),
            "{unknown}"
        );
        let unfit = refused(&["--slice", "0,0"], 2);
        assert!(
            unfit.contains("\"v\"") && unfit.contains("--fields"),
            "{unfit}"
        );
        let backwards = refused(&["--slice", "::-1"], 2);
        assert!(backwards.contains("step"), "{backwards}");
        refused(&["--stride", "0"], 2);
        refused(&["--as", "i8"], 2);
        assert!(!path.exists());
    }
}

#[test]
fn series_has_a_part_of_each_version() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("follow-part"));
    let path = dir.path().join("run.vtkhdf");
    let (mut p, t) = line(&name, 100);
    let still: Field<f64, _> = p.field("still", [10]).add().unwrap();
    p.view_mut(still).unwrap().fill(1.0);
    let part = ["--fields", "t", "--slice", "10:20", "--stride", "4"];
    let run = follow(&name, &path, &part);
    for n in 1..=3 {
        publish(&mut p, t, n * 10);
    }
    drop(p);
    assert_eq!(run.end().code, 0);
    let series = hdf5::File::open(&path).unwrap();
    let t = series.dataset("VTKHDF/PointData/t").unwrap();
    assert_eq!(t.shape(), [3, 3]);
    let values: Vec<f64> = t.read_raw().unwrap();
    assert_eq!(
        values,
        [10.0, 10.0, 10.0, 20.0, 20.0, 20.0, 30.0, 30.0, 30.0]
    );
    let image = series.group("VTKHDF").unwrap();
    assert_eq!(numbers(&image, "Origin"), [10.0, 0.0, 0.0]);
    assert_eq!(numbers(&image, "Spacing"), [4.0, 1.0, 1.0]);
    assert!(series.dataset("tcasm/fields/still").is_err());
}

#[test]
fn checkpoints_of_some_fields_say_what_they_lack() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("some"));
    let (mut p, t) = line(&name, 100);
    let more: Field<f64, _> = p.field("more", [10]).add().unwrap();
    let args = ["--every", "1", "--fields", "t", "--increments", "3"];
    let run = start(&name, dir.path(), &args);
    for n in 1..=4 {
        p.view_mut(more).unwrap().fill(n as f64);
        publish(&mut p, t, n * 10);
        until("it is written", || {
            Checkpoint::open(dir.path()).is_ok_and(|c| c.stamp().step == n * 10)
        });
    }
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let told = format!("{name}: left out by --fields: more; no simulation can restart");
    assert_eq!(run.out.matches(&told).count(), 1, "{run:?}");
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    let names = |fields: &[tcasm_core::field::FieldDesc]| {
        fields.iter().map(|f| f.name.clone()).collect::<Vec<_>>()
    };
    let table = checkpoint.table();
    assert_eq!(
        (names(&table.fields), names(&table.lacking)),
        (vec!["t".into()], vec!["more".into()])
    );
    let mut bytes = vec![0; 800];
    checkpoint.read_bytes("t", &mut bytes).unwrap();
    assert!(bytes.chunks(8).all(|v| v == 40_f64.to_le_bytes()));
    let out = dir.path().join("restored.vtkhdf");
    let restored = tcasm(&["restore", text(dir.path()), "--out", text(&out)]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert!(restored.err.contains("without more"), "{restored:?}");
    let restored = Checkpoint::open(&out).unwrap();
    assert_eq!(names(&restored.table().lacking), ["more"]);
}

#[test]
fn checkpoints_of_a_field_that_does_not_exist_end_at_once() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("typo"));
    let (mut p, t) = line(&name, 8);
    publish(&mut p, t, 10);
    let fast = text(dir.path());
    let typo = [
        "checkpoint",
        &name,
        "--fast",
        fast,
        "--every",
        "1",
        "--fields",
        "tt",
    ];
    let refused = bad(&typo, 7);
    assert!(
        refused.contains("\"tt\"") && refused.contains("\"t\""),
        "{refused}"
    );
}

#[test]
fn marked_fields_are_left_out_of_checkpoints_and_zero_after_a_restart() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("marked"));
    let (mut p, t) = line(&name, 100);
    let tmp = p.field::<f64, _>("tmp", [10]).not_in_checkpoints();
    let tmp = tmp.add().unwrap();
    p.view_mut(tmp).unwrap().fill(5.0);
    let run = start(&name, dir.path(), &["--every", "1", "--increments", "2"]);
    for n in 1..=3 {
        publish(&mut p, t, n * 10);
    }
    let exported = dir.path().join("one.vtkhdf");
    good(&["export", &name, text(&exported)]);
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let told = format!("{name}: left out, as the simulation asks: tmp; it fills them");
    assert_eq!(run.out.matches(&told).count(), 1, "{run:?}");
    let exported = Checkpoint::open(&exported).unwrap();
    assert!(exported.table().get("tmp").is_some() && exported.table().lacking.is_empty());
    std::fs::remove_file(exported.path()).unwrap();

    let out = dir.path().join("out.vtkhdf");
    good(&["restore", text(dir.path()), "--out", text(&out)]);
    for from in [dir.path(), &out] {
        let restored = Producer::restore(&[from]).unwrap();
        let (p, step) = (restored.producer, restored.stamp.step);
        let values = |name: &str| {
            let field = p.handle::<f64, Ix1>(name).unwrap();
            p.view(field).unwrap().to_vec()
        };
        assert_eq!((step, values("t")), (30, vec![30.0; 100]));
        assert_eq!(values("tmp"), [0.0; 10]);
    }
    // A program that adds its fields itself fills them before.
    let mut p = Producer::builder(&name).capacity(1 << 20).create().unwrap();
    let t: Field<f64, Ix1> = p.field("t", [100]).add().unwrap();
    let stamp = p.load(&Checkpoint::open(&out).unwrap()).unwrap();
    assert_eq!((stamp.step, p.view(t).unwrap()[99]), (30, 30.0));
}

#[test]
fn meshes_whose_fields_are_all_marked_are_there_after_a_restart() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("marked-mesh"));
    let (mut p, t) = line(&name, 4096);
    let grid = p.uniform_mesh("grid", [5, 2, 1], [1.0; 3], [0.5; 3]);
    let grid = grid.add().unwrap();
    let rho = p.field::<f64, _>("rho", [2, 5]).not_in_checkpoints();
    rho.on(&grid).add().unwrap();
    let x = p.field::<f64, _>("x", [8, 3]).vector().variable();
    let x = x.not_in_checkpoints().add().unwrap();
    let atoms = p.particles("atoms", &x).add().unwrap();
    let v = p.field::<f64, _>("v", [8]).variable().not_in_checkpoints();
    v.on(&atoms).add().unwrap();
    p.set_len(atoms, 3).unwrap();
    p.view_mut(x).unwrap().fill(2.5);
    let run = start(&name, dir.path(), &["--every", "1"]);
    publish(&mut p, t, 10);
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let mut p = Producer::restore(&[dir.path()]).unwrap().producer;
    p.mesh_handle("grid").unwrap();
    let atoms = p.mesh_handle("atoms").unwrap();
    assert_eq!((p.len(atoms).unwrap(), p.len("v").unwrap()), (3, 3));
    p.set_len(atoms, 8).unwrap();
    assert_eq!(p.len("v").unwrap(), 8, "v is on the mesh");
    let x = p.view(p.handle::<f64, Ix2>("x").unwrap()).unwrap();
    assert_eq!((x[[0, 0]], x[[2, 2]]), (2.5, 2.5));
}

#[test]
fn geometry_that_is_not_stored_is_missing_for_a_restart() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("no-geometry"));
    let (mut p, t) = line(&name, 4096);
    let x = p.field::<f64, _>("x", [8, 3]).vector().not_in_checkpoints();
    let x = x.add().unwrap();
    p.particles("atoms", &x).add().unwrap();
    let run = start(&name, dir.path(), &["--every", "1", "--fields", "t"]);
    publish(&mut p, t, 10);
    drop(p);
    assert_eq!(run.end().code, 0);
    let error = Producer::restore(&[dir.path()]).unwrap_err().to_string();
    assert!(error.contains("\"x\""), "{error}");
}
