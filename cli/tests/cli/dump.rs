//! Tests of `dump` and `export`.

use crate::checkpoint::attached;
use crate::common::{Run, bad, command, good, line, name, publish};
use ndarray::{Array, Array1, Array2, ArrayD, s};
use ndarray_npy::ReadNpyExt;
use nix::sys::signal::Signal;
use std::fs;
use std::path::Path;
use tcasm_checkpoint::Checkpoint;
use tcasm_producer::{Complex, Element, Producer};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn numpy_file_holds_the_field_for_every_dtype() {
    fn check<T: Element + ndarray_npy::ReadableElement + PartialEq>(of: impl Fn(u8) -> T) {
        let name = name("dtype");
        let mut p = Producer::builder(&name).capacity(4096).create().unwrap();
        let f = p.field::<T, _>("f", [2, 3]).add().unwrap();
        let values = Array2::from_shape_fn([2, 3], |(j, i)| of((j * 3 + i) as u8));
        p.view_mut(f).unwrap().assign(&values);
        p.publish(1, 0.0).unwrap();
        let npy = good(&["dump", &name, "f", "--npy", "-"]).bytes;
        assert_eq!(
            Array2::<T>::read_npy(npy.as_slice()).unwrap(),
            values,
            "{}",
            T::DTYPE
        );
        let raw = good(&["dump", &name, "f", "--raw", "-"]).bytes;
        assert_eq!(
            raw,
            bytemuck::cast_slice::<T, u8>(values.as_slice().unwrap()),
            "{}",
            T::DTYPE
        );
        assert!(good(&["dump", &name, "f"]).out.contains(T::DTYPE.name()));
    }
    check::<i8>(|n| n as i8 - 3);
    check::<i16>(|n| i16::from(n) * -300);
    check::<i32>(|n| i32::from(n) * -70_000);
    check::<i64>(|n| i64::from(n) << 40);
    check::<u8>(|n| 255 - n);
    check::<u16>(|n| u16::from(n) * 300);
    check::<u32>(|n| u32::from(n) * 70_000);
    check::<u64>(|n| u64::MAX - u64::from(n));
    check::<f32>(|n| f32::from(n) * 0.3);
    check::<f64>(|n| f64::from(n) * -0.7);
    check::<Complex<f32>>(|n| Complex::new(f32::from(n), -0.5));
    check::<Complex<f64>>(|n| Complex::new(0.25, f64::from(n)));
}

#[test]
fn ghost_layers_are_cut_off_by_default() {
    let name = name("ghosts");
    let mut p = Producer::builder(&name).capacity(8192).create().unwrap();
    let f = p
        .field::<f64, _>("f", [6, 5])
        .ghosts(&[[1, 2], [0, 1]])
        .add()
        .unwrap();
    let values = Array::from_shape_fn([6, 5], |(j, i)| (j * 10 + i) as f64);
    p.view_mut(f).unwrap().assign(&values);
    p.publish(1, 0.0).unwrap();
    let npy = |args: &[&str]| {
        let args = [&["dump", name.as_str(), "f", "--npy", "-"], args].concat();
        Array2::<f64>::read_npy(good(&args).bytes.as_slice()).unwrap()
    };
    assert_eq!(npy(&[]), values.slice(s![1..4, 0..4]));
    assert_eq!(npy(&["--with-ghosts"]), values);
    let raw = good(&["dump", &name, "f", "--raw", "-"]).bytes;
    assert_eq!(raw.len(), 6 * 5 * 8, "raw bytes are the whole field");
    let shown = good(&["dump", &name, "f"]).out;
    assert!(
        shown.contains("3 x 4") && shown.contains("without ghost layers"),
        "{shown}"
    );
    assert!(
        shown
            .lines()
            .nth(1)
            .unwrap()
            .split_whitespace()
            .eq(["10", "11", "12", "13"]),
        "{shown}"
    );
    assert!(
        good(&["dump", &name, "f", "--with-ghosts"])
            .out
            .contains("6 x 5")
    );
}

#[test]
fn fortran_order_is_kept_if_numpy_can_express_it() {
    let name = name("fortran");
    let mut p = Producer::builder(&name).capacity(1 << 16).create().unwrap();
    let f = p
        .field::<f32, _>("f", [4, 3, 2])
        .fortran_order()
        .add()
        .unwrap();
    let v = p
        .field::<f32, _>("v", [4, 3, 2])
        .fortran_order()
        .vector()
        .add()
        .unwrap();
    let values = Array::from_shape_fn([4, 3, 2], |(i, j, k)| (i * 100 + j * 10 + k) as f32);
    p.view_mut(f).unwrap().assign(&values);
    p.view_mut(v).unwrap().assign(&values);
    p.publish(1, 0.0).unwrap();
    for (field, fortran) in [("f", true), ("v", false)] {
        let npy = good(&["dump", &name, field, "--npy", "-"]).bytes;
        let header = String::from_utf8_lossy(&npy[..100]).into_owned();
        assert_eq!(
            header.contains("'fortran_order': True"),
            fortran,
            "{header}"
        );
        assert_eq!(
            ArrayD::<f32>::read_npy(npy.as_slice()).unwrap(),
            values.clone().into_dyn()
        );
    }
    assert!(good(&["dump", &name, "f"]).out.contains("(F order)"));
}

#[test]
fn slice_is_that_of_numpy() {
    let name = name("dump-slice");
    let mut p = Producer::builder(&name).capacity(1 << 16).create().unwrap();
    let f = p.field::<f64, _>("f", [6, 7]).ghosts(&[[1, 1], [2, 0]]);
    let f = f.add().unwrap();
    let v = p.field::<i32, _>("v", [4, 3, 2]).fortran_order().vector();
    let v = v.add().unwrap();
    let whole = Array::from_shape_fn([6, 7], |(j, i)| (j * 10 + i) as f64);
    let vector = Array::from_shape_fn([4, 3, 2], |(i, j, c)| (i * 100 + j * 10 + c) as i32);
    p.view_mut(f).unwrap().assign(&whole);
    p.view_mut(v).unwrap().assign(&vector);
    p.publish(1, 0.0).unwrap();
    let npy = |args: &[&str]| {
        let args = [&["dump", name.as_str(), "--npy", "-"], args].concat();
        good(&args).bytes
    };
    let of_f = |args: &[&str]| ArrayD::<f64>::read_npy(npy(args).as_slice()).unwrap();
    let of_v = |slice| ArrayD::<i32>::read_npy(npy(&["v", "--slice", slice]).as_slice()).unwrap();
    let inner = whole.slice(s![1..5, 2..]);
    assert_eq!(
        of_f(&["f", "--slice", "-1,::2"]),
        inner.slice(s![-1, ..;2]).into_dyn()
    );
    assert_eq!(
        of_f(&["f", "--slice", "::-3"]),
        inner.slice(s![..;-3, ..]).into_dyn()
    );
    let ghosts = of_f(&["f", "--slice", "0,:", "--with-ghosts"]);
    assert_eq!(ghosts, whole.slice(s![0, ..]).into_dyn());
    assert_eq!(of_v(":,:,1"), vector.slice(s![.., .., 1]).into_dyn());
    assert_eq!(of_v("2"), vector.slice(s![2, .., ..]).into_dyn());
    assert_eq!(of_v("...,0"), vector.slice(s![.., 0, ..]).into_dyn());
    assert_eq!(of_v("3,1,::-1"), vector.slice(s![3, 1, ..;-1]).into_dyn());
    let shown = good(&["dump", &name, "f", "--slice", "0,1:3"]).out;
    assert!(shown.contains("slice 0,1:3 takes 2"), "{shown}");
    assert!(shown.ends_with("  13  14\n"), "{shown}");
    for (field, slice, says) in [
        (
            "f",
            "0,0,0",
            "(shape [4, 5]); write for example --slice ':,0'",
        ),
        ("v", "0,0,0,0", "or ':,:,0' for component 0"),
        ("f", "9", "outside axis 0 of length 4"),
    ] {
        let error = bad(&["dump", &name, field, "--slice", slice], 2);
        assert!(error.contains(says), "{field} {slice}: {error}");
    }
    bad(&["dump", &name, "f", "--slice", "0", "--raw", "-"], 2);
}

#[test]
fn files_appear_complete_with_default_permissions_and_replace_older_ones_with_force() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, name) = (tempfile::tempdir().unwrap(), name("files"));
    let (mut p, t) = line(&name, 1000);
    let path = dir.path().join("t.npy");
    for step in [10, 20] {
        publish(&mut p, t, step);
        let run = good(&["dump", &name, "t", "--npy", text(&path), "--force"]);
        assert_eq!(run.out, "");
        let file = fs::File::open(&path).unwrap();
        assert_eq!(
            Array1::<f64>::read_npy(file).unwrap(),
            Array1::from_elem(1000, step as f64)
        );
    }
    for format in ["--npy", "--raw"] {
        let before = fs::read(&path).unwrap();
        let refused = bad(&["dump", &name, "t", format, text(&path)], 9);
        assert!(
            refused.contains("exists already") && refused.contains("--force"),
            "{refused}"
        );
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    good(&["dump", &name, "t", "--force", "--raw", text(&path)]);
    assert_eq!(fs::metadata(&path).unwrap().len(), 8000);
    let plain = dir.path().join("plain");
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&plain));
    let missing = dir.path().join("no/such/t.npy");
    let error = bad(&["dump", &name, "t", "--npy", text(&missing)], 9);
    assert!(
        error.contains(text(&missing)) && error.contains("create its folder"),
        "{error}"
    );
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        2,
        "nothing else is left"
    );
    good(&["dump", &name, "t", "--raw", "/dev/null"]);
    assert!(
        !Path::new("/dev/null").is_file(),
        "a device is not replaced"
    );
}

#[test]
fn older_version_is_dumped_by_its_number() {
    let name = name("older");
    let (mut p, t) = line(&name, 16);
    for step in [10, 20, 30] {
        publish(&mut p, t, step);
    }
    for version in 1..=3 {
        let number = version.to_string();
        let npy = good(&["dump", &name, "t", "--npy", "-", "--version", &number]).bytes;
        let expected = Array1::from_elem(16, version as f64 * 10.0);
        assert_eq!(Array1::<f64>::read_npy(npy.as_slice()).unwrap(), expected);
    }
    assert!(
        good(&["dump", &name, "t", "--version", "2"])
            .out
            .contains("version 2  step 20  t = 0.2")
    );
}

#[test]
fn structures_are_dumped_only_as_bytes() {
    let name = name("raw");
    let mut p = Producer::builder(&name).capacity(4096).create().unwrap();
    let raw = p.raw::<[u32; 3]>("tree", 5).add().unwrap();
    p.raw_mut(raw).unwrap()[0] = [0xaabb, 7, 9];
    p.publish(1, 0.0).unwrap();
    let bytes = good(&["dump", &name, "tree", "--raw", "-"]).bytes;
    assert_eq!(
        (bytes.len(), &bytes[..4]),
        (60, &0xaabb_u32.to_le_bytes()[..])
    );
    assert!(
        good(&["dump", &name, "tree"])
            .out
            .contains("bb aa 00 00 07")
    );
    assert!(bad(&["dump", &name, "tree", "--npy", "-"], 2).contains("--raw"));
    bad(&["stats", &name, "tree"], 2);
}

/// Runs the command with an output whose reader is gone.
fn without_reader(args: &[&str]) -> Run {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = command(args);
    command.stdout(writer).output().unwrap().into()
}

#[test]
fn closed_pipe_ends_commands_quietly_by_its_signal() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("pipe"));
    let (mut p, t) = line(&name, 1 << 18); // more than a pipe holds
    publish(&mut p, t, 1);
    let file = dir.path().join("one.vtkhdf");
    for args in [
        vec!["--help"],
        vec!["--version"],
        vec!["ls"],
        vec!["ls", "--json"],
        vec!["info", &name],
        vec!["info", &name, "--watch"],
        vec!["stats", &name, "t"],
        vec!["dump", &name, "t"],
        vec!["dump", &name, "t", "--raw", "-"],
        vec!["dump", &name, "t", "--npy", "-"],
        vec!["view", &name, "--port", "0"],
        vec!["export", &name, text(&file)],
        vec!["doctor"],
        vec!["completions", "bash"],
    ] {
        let run = without_reader(&args);
        let end = (run.code, run.err.as_str());
        assert_eq!(end, (-(Signal::SIGPIPE as i32), ""), "{args:?}");
    }
    assert!(file.exists(), "the work was done");
    // A command that writes files goes on.
    let args = ["checkpoint", &name, "--fast", text(dir.path()), "--last"];
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = command(&args).stdout(writer).spawn().unwrap();
    attached(&name, child.id());
    drop(p);
    let run: Run = child.wait_with_output().unwrap().into();
    assert_eq!((run.code, run.err.as_str()), (0, ""));
}

#[test]
fn exported_file_can_be_read_back() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("export"));
    let (mut p, t) = line(&name, 500);
    publish(&mut p, t, 10);
    publish(&mut p, t, 20);
    let path = dir.path().join("one.vtkhdf");
    for (version, compress) in [("1", "0"), ("2", "9")] {
        let args = [
            "export",
            &name,
            text(&path),
            "--version",
            version,
            "--compress",
            compress,
            "--force",
        ];
        let out = good(&args).out;
        assert!(out.starts_with(&format!("wrote {}", text(&path))), "{out}");
        let checkpoint = Checkpoint::open(&path).unwrap();
        assert_eq!(checkpoint.stamp().version.to_string(), version);
        let mut values = vec![0; 4000];
        checkpoint.read_bytes("t", &mut values).unwrap();
        let expected = checkpoint.stamp().step as f64;
        assert!(values.chunks(8).all(|v| v == expected.to_le_bytes()));
    }
    let error = bad(
        &["export", &name, text(&dir.path().join("none/x.vtkhdf"))],
        9,
    );
    assert!(error.contains("does not exist"), "{error}");
}

#[test]
fn name_of_the_exported_file_tells_its_layout() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("named"));
    let (mut p, t) = line(&name, 500);
    publish(&mut p, t, 10);
    let export = |file: &str, more: &[&str]| {
        let path = dir.path().join(file);
        let run = crate::common::tcasm(&[&["export", &name, text(&path)], more].concat());
        (run.code, run.err)
    };
    let holds = |file: &str, group: &str| {
        let file = hdf5::File::open(dir.path().join(file)).unwrap();
        file.group(group).is_ok()
    };
    assert_eq!(export("one.h5", &[]).0, 0);
    assert_eq!(export("one.vtkhdf", &[]).0, 0);
    assert!(holds("one.h5", "data/10/meshes") && !holds("one.h5", "VTKHDF"));
    assert!(holds("one.vtkhdf", "VTKHDF") && !holds("one.vtkhdf", "data"));
    let refused: [(&str, &[&str]); 5] = [
        ("two.vtk", &[]),
        ("two", &["--force"]),
        ("two.h5", &["--layout", "vtkhdf"]),
        ("two.vtkhdf", &["--layout", "openpmd"]),
        ("two.vtkhdf.series", &[]),
    ];
    for (file, more) in refused {
        let (code, error) = export(file, more);
        assert_eq!(code, 2, "{file}: {error}");
        assert!(
            error.contains("two.vtkhdf") || error.contains("two.h5"),
            "{error}"
        );
        assert!(!dir.path().join(file).exists(), "{file}");
    }
}

#[test]
fn export_replaces_a_file_only_with_force() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("force"));
    let (mut p, t) = line(&name, 500);
    publish(&mut p, t, 10);
    let path = dir.path().join("one.h5");
    fs::write(&path, "the only copy").unwrap();
    let refused = bad(&["export", &name, text(&path)], 9);
    assert!(
        refused.contains("exists already") && refused.contains("--force"),
        "{refused}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"the only copy");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    good(&["export", &name, text(&path), "--force"]);
    assert_eq!(Checkpoint::open(&path).unwrap().stamp().step, 10);
}
