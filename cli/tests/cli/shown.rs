//! Tests of what `export` and `restore` print about fields that ParaView does not show.

use crate::common::{good, name};
use crate::follow::start as follow;
use std::path::Path;
use tcasm_producer::{Complex, Producer};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Creates a region without named meshes, with the field `u` on a grid and three fields that VTK
/// cannot show there, and publishes it.
fn region(name: &str) -> Producer {
    let mut p = Producer::builder(name).capacity(1 << 20).create().unwrap();
    let psi = p.field::<Complex<f64>, _>("psi", [4, 6]);
    psi.add().unwrap();
    let u = p.field::<f64, _>("u", [4, 6]);
    u.mesh([1.0, 2.0, 0.0], [0.5, 0.25, 1.0]).add().unwrap();
    p.raw::<[u32; 3]>("tree", 5).add().unwrap();
    p.field::<i32, _>("v", [10]).add().unwrap();
    p.publish(10, 0.1).unwrap();
    p
}

/// Returns the fields that the image at `path` has.
fn shown(path: &Path) -> Vec<String> {
    let file = hdf5::File::open(path).unwrap();
    file.group("VTKHDF/PointData")
        .unwrap()
        .member_names()
        .unwrap()
}

#[test]
fn fields_that_paraview_does_not_show_are_named_with_the_reason() {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("shown"));
    let p = region(&name);
    let expected = [
        "psi   not shown in ParaView: VTK has no complex numbers",
        "tree  not shown in ParaView: VTK has no structures",
        "v     not shown in ParaView: its extents are [10], but the grid of the file, which is \
         that of u, has [4, 6] points",
    ];
    let file = dir.path().join("one.vtkhdf");
    let out = dir.path().join("out.vtkhdf");
    for (path, args) in [
        (&file, ["export", &name, text(&file)].to_vec()),
        (&out, ["restore", text(&file), "--out", text(&out)].to_vec()),
    ] {
        let told = good(&args).out;
        let lines: Vec<&str> = told.lines().map(str::trim).collect();
        assert!(lines[0].starts_with("wrote "), "{told}");
        assert_eq!(lines[1..], expected);
        assert_eq!(shown(path), ["u"]);
    }
    let only = dir.path().join("u.vtkhdf");
    let told = good(&["export", &name, text(&only), "--fields", "u"]).out;
    assert_eq!(told.lines().count(), 1, "{told}");

    let run = follow(&name, &dir.path().join("run.vtkhdf"), &[]);
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let lines: Vec<&str> = run.out.lines().map(str::trim).collect();
    assert_eq!(lines[..3], expected, "once, before the last line");
    assert_eq!(lines.len(), 4, "{run:?}");
}
