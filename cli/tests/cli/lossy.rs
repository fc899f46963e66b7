//! Tests of `export --relative-error` and `checkpoint --lossy-relative-error`.

use crate::checkpoint::start;
use crate::common::{bad, good, json, name, tcasm};
use crate::follow::start as follow;
use ndarray::Ix1;
use std::path::Path;
use tcasm_checkpoint::Checkpoint;
use tcasm_producer::{Field, Producer};
use tcasm_restart::{Restore, RestoreError, rebuild};

const BOUND: f64 = 1e-3;
const COUNT: usize = 20_000;
const BITS: &str = "_QuantizeBitRoundNumberOfSignificantBits";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the value `i` of step `step`, which needs all bits of its mantissa.
fn value(i: usize, step: u64) -> f64 {
    (i as f64 * 0.7 + 0.1).sin() * step as f64
}

/// Creates a region with the floats `t` and the integers `n`.
fn region(name: &str) -> (Producer, Field<f64, Ix1>) {
    let builder = Producer::builder(name).capacity(1 << 20).history(4);
    let mut p = builder.create().unwrap();
    let t = p.field("t", [COUNT]).add().unwrap();
    let n: Field<i32, Ix1> = p.field("n", [COUNT]).add().unwrap();
    for (i, n) in p.view_mut(n).unwrap().iter_mut().enumerate() {
        *n = 101 * i as i32 + 1;
    }
    (p, t)
}

fn publish(p: &mut Producer, t: Field<f64, Ix1>, step: u64) {
    for (i, t) in p.view_mut(t).unwrap().iter_mut().enumerate() {
        *t = value(i, step);
    }
    p.publish(step, step as f64).unwrap();
}

/// Checks that `values` are those of `step` within the bound, but not exactly.
fn assert_near(values: &[f64], step: u64) {
    assert_eq!(values.len(), COUNT);
    let error = |(i, got): (usize, &f64)| ((got - value(i, step)) / value(i, step)).abs();
    let largest = values.iter().enumerate().map(error).fold(0.0, f64::max);
    assert!(largest > BOUND / 100.0 && largest <= BOUND, "{largest}");
}

fn assert_integers(values: &[i32]) {
    let right = |(i, n): (usize, &i32)| *n == 101 * i as i32 + 1;
    assert!(values.len() == COUNT && values.iter().enumerate().all(right));
}

/// Checks the values of a checkpoint, by name.
fn assert_checkpoint(checkpoint: &Checkpoint, step: u64) {
    let bytes = |name: &str, size: usize| {
        let mut bytes = vec![0; COUNT * size];
        checkpoint.read_bytes(name, &mut bytes).unwrap();
        bytes
    };
    let (t, n) = (bytes("t", 8), bytes("n", 4));
    let (t, n) = (t.as_chunks::<8>().0.iter(), n.as_chunks::<4>().0.iter());
    assert_near(&t.map(|b| f64::from_le_bytes(*b)).collect::<Vec<_>>(), step);
    assert_integers(&n.map(|b| i32::from_le_bytes(*b)).collect::<Vec<_>>());
    assert_eq!(checkpoint.table().relative_error(), Some(BOUND));
}

#[test]
fn export_within_a_bound_is_smaller_and_says_what_it_is() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("lossy"));
    let (mut p, t) = region(&name);
    publish(&mut p, t, 10);
    for (file, dataset) in [("x.vtkhdf", "VTKHDF/PointData"), ("x.h5", "data/10/meshes")] {
        let path = dir.path().join(file);
        let export = ["export", &name, text(&path), "--force"];
        good(&export);
        let exact = std::fs::metadata(&path).unwrap().len();
        let run = good(&[&export[..], &["--relative-error", "1e-3"]].concat());
        let told = "lossy (relative error up to 1e-3)";
        assert!(run.out.contains(told), "{run:?}");
        let lossy = std::fs::metadata(&path).unwrap().len();
        assert!(lossy * 3 < exact * 2, "{lossy} of {exact}");
        let verified = good(&["verify", text(&path)]);
        assert!(verified.out.contains(told), "{verified:?}");
        assert_checkpoint(&Checkpoint::open(&path).unwrap(), 10);

        let file = hdf5::File::open(&path).unwrap();
        let [t, n] = ["t", "n"].map(|field| file.dataset(&format!("{dataset}/{field}")).unwrap());
        assert_near(&t.read_raw::<f64>().unwrap(), 10);
        assert_integers(&n.read_raw::<i32>().unwrap());
        assert_eq!(t.attr(BITS).unwrap().read_scalar::<i32>().unwrap(), 9);
        let bound: f64 = t.attr("relative_error").unwrap().read_scalar().unwrap();
        assert_eq!(bound, BOUND);
        assert!(n.attr(BITS).is_err() && n.attr("relative_error").is_err());
    }
}

#[test]
fn parts_and_singles_are_rounded_too() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("lossy-part"));
    let (mut p, t) = region(&name);
    publish(&mut p, t, 10);
    let path = dir.path().join("x.vtkhdf");
    let export = ["export", &name, text(&path), "--relative-error", "1e-3"];
    good(
        &[
            &export[..],
            &["--as", "f32", "--slice", "5:", "--stride", "2"],
        ]
        .concat(),
    );
    let checkpoint = Checkpoint::open(&path).unwrap();
    let field = checkpoint.table().get("t").unwrap().clone();
    assert_eq!((field.shape[0], field.significant_bits()), (9998, Some(9)));
    let mut bytes = vec![0; field.bytes() as usize];
    checkpoint.read_bytes("t", &mut bytes).unwrap();
    for (i, b) in bytes.as_chunks::<4>().0.iter().enumerate() {
        let (got, exact) = (f32::from_le_bytes(*b), value(5 + 2 * i, 10));
        assert!(
            (f64::from(got) - exact).abs() <= BOUND * exact.abs(),
            "{got} for {exact}"
        );
        assert_eq!(got.to_bits() % (1 << (23 - 9)), 0, "{got}");
    }
    // A bound that needs all bits of an f32 changes nothing.
    let fine = ["export", &name, text(&path), "--force", "--as", "f32"];
    let run = good(&[&fine[..], &["--relative-error", "1e-9"]].concat());
    assert!(!run.out.contains("lossy"), "{run:?}");
}

#[test]
fn each_version_of_a_series_is_within_the_bound() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("lossy-series"));
    let path = dir.path().join("run.vtkhdf");
    let (mut p, t) = region(&name);
    let run = follow(&name, &path, &["--relative-error", "1e-3"]);
    (1..=3).for_each(|n| publish(&mut p, t, n * 10));
    drop(p);
    assert_eq!(run.end().code, 0);
    let series = hdf5::File::open(&path).unwrap();
    let t = series.dataset("VTKHDF/PointData/t").unwrap();
    assert_eq!(t.attr(BITS).unwrap().read_scalar::<i32>().unwrap(), 9);
    let steps: Vec<u64> = series.dataset("tcasm/step").unwrap().read_raw().unwrap();
    let values: Vec<f64> = t.read_raw().unwrap();
    assert_eq!(values.len(), steps.len() * COUNT);
    for (values, step) in values.chunks(COUNT).zip(steps) {
        assert_near(values, step);
    }
    let n = series.dataset("VTKHDF/PointData/n").unwrap();
    for values in n.read_raw::<i32>().unwrap().chunks(COUNT) {
        assert_integers(values);
    }
}

#[test]
fn lossy_checkpoints_are_marked_and_refused_by_restarts_unless_accepted() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("lossy-run"));
    let (mut p, t) = region(&name);
    let args = ["--every", "1", "--increments", "2"];
    let args = [&args[..], &["--lossy-relative-error", "1e-3"]].concat();
    let run = start(&name, dir.path(), &args);
    (1..=2).for_each(|n| publish(&mut p, t, n * 10));
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let told = format!("{name}: lossy, as --lossy-relative-error asks: t; a restart");
    assert_eq!(run.out.matches(&told).count(), 1, "{run:?}");
    let listed = good(&["checkpoints", text(dir.path())]);
    let lossy = listed.out.matches("lossy (relative error up to 1e-3)");
    let all = json(&["checkpoints", text(dir.path()), "--json"]);
    let entries = all[0]["checkpoints"].as_array().unwrap();
    assert_eq!(lossy.count(), entries.len());
    assert!(entries.iter().all(|entry| entry["relative_error"] == BOUND));

    let out = dir.path().join("out.vtkhdf");
    let restore = ["restore", text(dir.path()), "--out", text(&out)];
    let refused = bad(&restore, 2);
    assert!(
        refused.contains("--allow-lossy") && refused.contains("1e-3"),
        "{refused}"
    );
    assert!(!out.exists());
    let refused = Producer::restore(&[dir.path()]).unwrap_err();
    assert!(refused.to_string().contains("is lossy"), "{refused}");
    let restored = tcasm(&[&restore[..], &["--allow-lossy"]].concat());
    assert_eq!(restored.code, 0, "{restored:?}");
    assert!(
        restored.err.contains("the values of t are rounded"),
        "{restored:?}"
    );
    // The new file is as lossy as the checkpoint.
    let opened = Checkpoint::open(&out).unwrap();
    assert_checkpoint(&opened, 20);
    let builder = || Producer::builder(&name);
    let refused = rebuild(builder(), &opened).unwrap_err();
    assert!(matches!(refused, RestoreError::Lossy { .. }), "{refused}");

    let accepted = Checkpoint::restart_lossy(&[dir.path()], Some(&name), Some(20)).unwrap();
    assert_checkpoint(&accepted, 20);
    let p = rebuild(builder(), &accepted).unwrap();
    let t = p.handle::<f64, Ix1>("t").unwrap();
    assert_near(p.view(t).unwrap().as_slice().unwrap(), 20);
    let n = p.handle::<i32, Ix1>("n").unwrap();
    assert_integers(p.view(n).unwrap().as_slice().unwrap());
}

#[test]
fn coordinates_of_meshes_stay_exact_also_if_they_are_cut() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("lossy-mesh"));
    let mut p = Producer::builder(&name).capacity(1 << 20).create().unwrap();
    let x = p.field::<f64, _>("x", [40, 3]).vector().variable();
    let x = x.add().unwrap();
    let atoms = p.particles("atoms", &x).add().unwrap();
    let v = p.field::<f64, _>("v", [40]).variable().on(&atoms);
    let v = v.add().unwrap();
    p.set_len(atoms, 20).unwrap();
    let places = |i: usize| 1e3 + value(i, 1);
    for (i, x) in p.view_mut(x).unwrap().iter_mut().enumerate() {
        *x = places(i);
    }
    for (i, v) in p.view_mut(v).unwrap().iter_mut().enumerate() {
        *v = value(i, 1);
    }
    p.publish(1, 0.0).unwrap();
    let path = dir.path().join("x.vtkhdf");
    let export = ["export", &name, text(&path), "--relative-error", "1e-3"];
    for (part, first, len) in [(&[][..], 0, 20), (&["--force", "--slice", "5:"][..], 5, 15)] {
        good(&[&export[..], part].concat());
        let checkpoint = Checkpoint::open(&path).unwrap();
        let rounded: Vec<&str> = checkpoint.table().rounded().map(|f| &*f.name).collect();
        assert_eq!(rounded, ["v"]);
        let mut bytes = vec![0; len * 3 * 8];
        checkpoint.read_bytes("x", &mut bytes).unwrap();
        let got = bytes.as_chunks::<8>().0.iter();
        let exact = (first * 3..(first + len) * 3).map(places);
        assert!(got.map(|b| f64::from_le_bytes(*b)).eq(exact), "{part:?}");
    }
}

#[test]
fn bounds_are_numbers_between_zero_and_one_and_checkpoints_have_an_option_of_their_own() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("lossy-bad"));
    let (mut p, t) = region(&name);
    publish(&mut p, t, 10);
    let path = dir.path().join("x.vtkhdf");
    for bound in ["0", "1", "-0.5", "nan", "1%"] {
        let bound = format!("--relative-error={bound}");
        let refused = tcasm(&["export", &name, text(&path), &bound]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.err.contains("less than 1"), "{refused:?}");
    }
    let checkpoint = ["checkpoint", &name, "--fast", text(dir.path()), "--last"];
    let refused = tcasm(&[&checkpoint[..], &["--relative-error", "1e-3"]].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(!path.exists());
}
