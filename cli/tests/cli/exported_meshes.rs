//! Tests of exports of regions with named meshes.

use crate::checkpoint;
use crate::common::{bad, good, name, tcasm, until};
use crate::follow::start as follow;
use std::path::Path;
use tcasm_checkpoint::Checkpoint;
use tcasm_core::field::{CellType, MeshKind};
use tcasm_producer::ndarray::Ix2;
use tcasm_producer::{Complex, MeshHandle, Producer};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Creates a region with particles, which have none at first, and with a grid.
fn region(name: &str) -> (Producer, MeshHandle) {
    let mut p = Producer::builder(name).capacity(1 << 20).create().unwrap();
    let x = p.field::<f64, _>("x", [100, 3]).vector().variable();
    let x = x.add().unwrap();
    let atoms = p.particles("atoms", &x).add().unwrap();
    let v = p.field::<f32, _>("v", [100, 3]).vector().variable();
    v.on(&atoms).quantity("velocity").add().unwrap();
    let grid = p.uniform_mesh("grid", [5, 4, 1], [0.0, 1.0, 0.0], [0.5; 3]);
    let grid = grid.add().unwrap();
    let rho = p.field::<f64, _>("rho", [3, 4]).cell_centred().on(&grid);
    rho.add().unwrap();
    let sums = p.field::<f64, _>("sums", [6]).no_centring().on(&grid);
    sums.add().unwrap();
    (p, atoms)
}

#[test]
fn export_says_where_each_field_is_and_why_others_are_not_shown() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("exported"));
    let (mut p, atoms) = region(&name);
    p.set_len(atoms, 2).unwrap();
    p.publish(1, 0.0).unwrap();
    let path = dir.path().join("all.vtkhdf");
    let out = good(&["export", &name, text(&path)]).out;
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    assert!(lines[0].starts_with("wrote "), "{out}");
    let expected = [
        "x     /VTKHDF/atoms/Points",
        "v     /VTKHDF/atoms/PointData/velocity",
        "rho   /VTKHDF/grid/CellData/rho",
        "sums  not shown in ParaView: it is a table, on neither points nor cells",
    ];
    assert_eq!(lines[1..], expected);
    let file = hdf5::File::open(&path).unwrap();
    let velocity = file.dataset("VTKHDF/atoms/PointData/velocity").unwrap();
    assert_eq!(velocity.shape(), [2, 3]);
    // HDF5 opens a file only once at a time with other settings.
    drop(velocity);
    file.close().unwrap();
    let checkpoint = Checkpoint::open(&path).unwrap();
    checkpoint.verify().unwrap();
    assert_eq!(checkpoint.table().get("x").unwrap().capacity, Some(100));
}

#[test]
fn geometry_is_stored_with_the_fields_on_it_and_cut_like_them() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("exported-part"));
    let (mut p, atoms) = region(&name);
    p.set_len(atoms, 4).unwrap();
    p.publish(1, 0.0).unwrap();
    let whole = dir.path().join("whole.vtkhdf");
    good(&["export", &name, text(&whole), "--fields", "v"]);
    let table = Checkpoint::open(&whole).unwrap().table().clone();
    let fields: Vec<&str> = table.fields.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(fields, ["x", "v"]);
    assert_eq!(table.meshes.len(), 1);
    let cut = dir.path().join("cut.vtkhdf");
    let export = ["export", &name, text(&cut), "--fields", "v,rho"];
    let out = good(&[&export[..], &["--slice", "1:3"]].concat()).out;
    let lines: Vec<&str> = out.lines().skip(1).map(str::trim).collect();
    let expected = [
        "x    /VTKHDF/atoms/Points",
        "v    /VTKHDF/atoms/PointData/velocity",
        "rho  /VTKHDF/grid/CellData/rho",
    ];
    assert_eq!(lines, expected);
    let checkpoint = Checkpoint::open(&cut).unwrap();
    checkpoint.verify().unwrap();
    let table = checkpoint.table();
    let meshes: Vec<&str> = table.meshes.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(meshes, ["atoms", "grid"]);
    let x = table.get("x").unwrap();
    assert_eq!((x.shape.as_slice(), x.capacity), (&[2][..], Some(100)));
    assert_eq!(table.get("v").unwrap().on.as_deref(), Some("atoms"));
    // A uniform mesh needs no coordinates: its part has an origin of its own.
    let rho = table.get("rho").unwrap();
    assert_eq!(rho.on.as_deref(), Some("grid"));
    assert_eq!(rho.shape, [2, 4]);
    let part = MeshKind::Uniform {
        points: [5, 3, 1],
        origin: [0.0, 1.5, 0.0],
        spacing: [0.5; 3],
    };
    assert_eq!(table.meshes[1].kind, part);
}

#[test]
fn cells_that_vtk_cannot_have_are_not_exported() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("exported-wrong"));
    let mut p = Producer::builder(&name).capacity(1 << 20).create().unwrap();
    let at = p.field::<f64, _>("at", [4, 3]).vector().add().unwrap();
    let ids = p.field::<i64, _>("ids", [1, 4]).vector().add().unwrap();
    let mesh = p.unstructured_mesh("m", &at, CellType::TETRA, &ids);
    mesh.add().unwrap();
    p.view_mut(ids).unwrap()[[0, 3]] = 9;
    p.publish(1, 0.0).unwrap();
    let path = dir.path().join("wrong.vtkhdf");
    let error = bad(&["export", &name, text(&path)], 1);
    let why = "mesh \"m\" cannot be written for other programs: cell 0 has the point 9";
    assert!(error.contains(why), "{error}");
    assert!(!path.exists());
    p.view_mut(ids).unwrap()[[0, 3]] = 3;
    p.publish(2, 0.1).unwrap();
    good(&["export", &name, text(&path)]);
}

#[test]
fn series_goes_on_when_lengths_change() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("exported-series"));
    let path = dir.path().join("run.vtkhdf");
    let (mut p, atoms) = region(&name);
    let run = follow(&name, &path, &[]);
    let lengths = |count: usize| {
        let file = hdf5::File::open(&path).ok();
        let lengths = file.and_then(|file| file.dataset("tcasm/lengths/x").ok());
        let lengths = lengths.and_then(|lengths| lengths.read_raw::<u64>().ok());
        lengths.filter(|lengths| lengths.len() == count)
    };
    for (step, len) in (1..).zip([2, 0, 5]) {
        p.set_len(atoms, len).unwrap();
        p.publish(step, step as f64).unwrap();
        until("it is appended", || lengths(step as usize).is_some());
    }
    assert_eq!(lengths(3).unwrap(), [2, 0, 5]);
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    // The places are printed once, before the last line.
    assert_eq!(run.out.lines().count(), 5, "{run:?}");
}

#[test]
fn series_in_single_precision_has_the_lengths_of_each_version() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("exported-single"));
    let path = dir.path().join("run.vtkhdf");
    let (mut p, atoms) = region(&name);
    let x = p.handle::<f64, Ix2>("x").unwrap();
    let run = follow(&name, &path, &["--as", "f32"]);
    let steps = || {
        let file = hdf5::File::open(&path).ok()?;
        file.dataset("tcasm/step").ok()?.read_raw::<u64>().ok()
    };
    let value = |step: u64| step as f64 + 0.1;
    for (step, len) in (1..).zip([2, 0, 3]) {
        p.set_len(atoms, len).unwrap();
        p.view_mut(x).unwrap().fill(value(step));
        p.publish(step, step as f64).unwrap();
        until("it is appended", || {
            steps().is_some_and(|steps| steps.last() == Some(&step))
        });
    }
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");

    let file = hdf5::File::open(&path).unwrap();
    let shown = "VTKHDF/atoms";
    for dataset in ["VTKHDF/grid/CellData/rho", "tcasm/fields/sums"] {
        let dataset = file.dataset(dataset).unwrap();
        assert!(dataset.dtype().unwrap().is::<f32>(), "{dataset:?}");
    }
    let points = file.dataset(&format!("{shown}/Points")).unwrap();
    assert!(points.dtype().unwrap().is::<f32>());
    let points: Vec<f32> = points.read_raw().unwrap();
    let numbers = |dataset: &str| -> Vec<i64> {
        let dataset = file.dataset(&format!("{shown}/{dataset}")).unwrap();
        dataset.read_raw().unwrap()
    };
    let counts = numbers("NumberOfPoints");
    assert_eq!(counts, [2, 0, 3]);
    let places = numbers("Steps/PointOffsets").into_iter().zip(counts);
    for (step, (first, count)) in (1..).zip(places) {
        let [first, count] = [first, count].map(|n| 3 * n as usize);
        let expected = vec![value(step) as f32; count];
        assert_eq!(points[first..first + count], expected);
    }
}

/// Creates a region of which openPMD has a place for one field, `t`.
fn without_places(name: &str) -> Producer {
    let mut p = Producer::builder(name).capacity(1 << 20).create().unwrap();
    let at = p.field::<f64, _>("at", [4, 3]).vector().add().unwrap();
    let ids = p.field::<i64, _>("ids", [1, 4]).vector().add().unwrap();
    let mesh = p.unstructured_mesh("m", &at, CellType::TETRA, &ids);
    mesh.add().unwrap();
    p.field::<Complex<f64>, _>("psi", [4]).add().unwrap();
    p.field::<f64, _>("t", [4]).add().unwrap();
    p
}

#[test]
fn fields_without_a_place_in_openpmd_are_named() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("exported-openpmd"));
    let mut p = without_places(&name);
    let folder = dir.path().join("tier");
    std::fs::create_dir(&folder).unwrap();
    let args = ["--every", "1", "--layout", "openpmd"];
    let run = checkpoint::start(&name, &folder, &args);
    for step in 1..=2 {
        p.publish(step, step as f64).unwrap();
        let file = folder.join(format!("{name}_{step:08}.h5"));
        until("it is written", || file.exists());
    }
    let one = dir.path().join("one.h5");
    let out = good(&["export", &name, text(&one)]).out;
    let lines = out.lines().skip(1).map(str::trim);
    let expected = [
        "at   not stored for openPMD: openPMD has no unstructured meshes",
        "ids  not stored for openPMD: openPMD has no unstructured meshes",
        "psi  not stored for openPMD: most openPMD readers have no complex numbers",
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.lines().count()), (0, 1), "{run:?}");
    let note = "not stored for openPMD: psi (most openPMD readers have no complex numbers); \
                at, ids (openPMD has no unstructured meshes)";
    assert!(run.err.contains(note), "{run:?}");
    let restored = dir.path().join("restored.h5");
    let run = tcasm(&["restore", text(&folder), "--out", text(&restored)]);
    let all = run.out.clone() + &run.err;
    let is_named = ["psi", "not stored for openPMD"].map(|part| all.contains(part));
    assert_eq!((run.code, is_named), (0, [true; 2]), "{run:?}");
}

#[test]
fn series_of_a_part_goes_on_after_a_version_that_is_too_short_for_it() {
    for lossless in [&[][..], &["--lossless"]] {
        let (dir, name) = (tempfile::tempdir().unwrap(), name("exported-short"));
        let path = dir.path().join("run.vtkhdf");
        let (mut p, atoms) = region(&name);
        let part = ["--fields", "v", "--slice", "1:3"];
        let mut run = follow(&name, &path, &[&part[..], lossless].concat());
        let steps = || {
            let file = hdf5::File::open(&path).ok()?;
            file.dataset("tcasm/step").ok()?.read_raw::<u64>().ok()
        };
        let mut publish = |step: u64, len| {
            p.set_len(atoms, len).unwrap();
            p.publish(step, step as f64).unwrap();
        };
        publish(1, 4);
        until("it is appended", || steps() == Some(vec![1]));
        publish(2, 1);
        let said = run.read_error_line();
        let text = "is not appended: ";
        assert!(said.contains("step 2") && said.contains(text), "{said}");
        publish(3, 5);
        until("it is appended", || steps() == Some(vec![1, 3]));
        drop(p);
        let run = run.end();
        assert_eq!(run.code, 0, "{run:?}");
    }
}

#[test]
fn parts_of_blocks_that_move_and_are_unused_stay_one_series() {
    for part in [&["--stride", "2"][..], &["--slice", "1"], &[]] {
        let (dir, name) = (tempfile::tempdir().unwrap(), name("exported-blocks"));
        let path = dir.path().join("run.vtkhdf");
        let builder = Producer::builder(&name).capacity(1 << 20);
        let mut p = builder.versions(64).history(60).create().unwrap();
        let blocks = ["a", "b"].map(|name| {
            let mesh = p.uniform_mesh(name, [5; 3], [0.0; 3], [1.0; 3]);
            let mesh = mesh.add().unwrap();
            let rho = p.field::<f64, _>(&format!("rho_{name}"), [4; 3]);
            let rho = rho.cell_centred().variable().on(&mesh).quantity("rho");
            rho.add().unwrap();
            mesh
        });
        let run = follow(&name, &path, part);
        for step in 1..=5 {
            let at = [step as f64, 0.0, 0.0];
            p.set_uniform_mesh(&blocks[0], [5; 3], at, [1.0; 3])
                .unwrap();
            match step % 2 {
                0 => p.set_unused(&blocks[1]).unwrap(),
                _ => p
                    .set_uniform_mesh(&blocks[1], [5; 3], at, [0.5; 3])
                    .unwrap(),
            }
            p.publish(step, step as f64).unwrap();
        }
        drop(p);
        let run = run.end();
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
        // The places of both fields, once, and the last line.
        assert_eq!(run.out.lines().count(), 3, "{run:?}");
        assert!(!dir.path().join("run_2.vtkhdf").exists());
        let file = hdf5::File::open(&path).unwrap();
        let points = file.dataset("VTKHDF/b/NumberOfPoints").unwrap();
        let points: Vec<i64> = points.read_raw().unwrap();
        assert_eq!(points.len(), 5, "{run:?}");
        let is_unused = |step: usize| points[step - 1] == 0;
        assert_eq!(
            [1, 2, 3, 4, 5].map(is_unused),
            [false, true, false, true, false]
        );
    }
}
