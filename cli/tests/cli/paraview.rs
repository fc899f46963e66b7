//! ParaView reads a series of a running simulation. ParaView is too large for every machine, so
//! only `ci/paraview.sh` runs these tests.

use crate::checkpoint::attached;
use crate::common::{Background, name, until};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tcasm_producer::{Field, Producer};

/// Publishes ten versions. ParaView reads the series when it has 2, 3 and all of them.
fn watch(file: &str) {
    let (dir, name) = (tempfile::tempdir().unwrap(), name("paraview"));
    let file = dir.path().join(file);
    let builder = Producer::builder(&name).capacity(1 << 16);
    let mut p = builder.versions(64).history(60).create().unwrap();
    let t: Field<f64, _> = p.field("t", [3, 4, 5]).add().unwrap();
    let mut run = Background::start(&["export", &name, file.to_str().unwrap(), "--follow"]);
    attached(&name, run.pid());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/watch_with_paraview.py");
    let mut command = Command::new("pvpython");
    command.arg(script).arg(&file).stderr(Stdio::inherit());
    let mut paraview = Background::interactive(command);
    for step in 1..=10 {
        p.view_mut(t).unwrap().fill(step as f64);
        p.publish(step, step as f64 / 100.0).unwrap();
        if [2, 3, 10].contains(&step) {
            until("it is appended", || appended(&file) == step);
            let pipe = paraview.child().stdin.as_mut().unwrap();
            if writeln!(pipe, "{step}").is_err() {
                break; // it has ended, and printed why
            }
            println!("{}", paraview.read_line().trim_end());
        }
    }
    assert!(run.child().try_wait().unwrap().is_none());
    drop(paraview.child().stdin.take());
    let seen = paraview.end();
    assert_eq!(seen.code, 0, "{seen:?}");
}

/// Returns the number of versions in the series.
fn appended(file: &Path) -> u64 {
    if file.extension().is_some_and(|e| e == "series") {
        let list = std::fs::read_to_string(file).unwrap_or_default();
        return list.matches("\"name\"").count() as u64;
    }
    hdf5::File::open(file).map_or(0, |file| file.dataset("tcasm/step").unwrap().size() as u64)
}

#[test]
#[ignore = "needs ParaView: ci/paraview.sh"]
fn paraview_reloads_a_list_of_files() {
    watch("run.vtkhdf.series");
}

#[test]
#[ignore = "needs ParaView: ci/paraview.sh"]
fn paraview_reloads_a_temporal_file() {
    watch("run.vtkhdf");
}
