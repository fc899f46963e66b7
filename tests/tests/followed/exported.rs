//! Exports of the examples, read by VTK, PyVista, openPMD-api and h5py.

use crate::simulation::Simulation;
use crate::{start, text};
use std::path::{Path, PathBuf};
use std::process::Command;
use tcasm_tests::child::poll_until;
use tcasm_tests::name;
use tempfile::TempDir;

/// The arguments of the particles: a version each step.
const MD: [&str; 6] = ["--size", "4", "--steps", "1200", "--every", "1"];

/// The arguments of the finite elements. The mesh is refined after more steps than lines fit in the
/// pipe, so both meshes are seen.
const FEM: [&str; 8] = [
    "--size",
    "4",
    "--steps",
    "1200",
    "--every",
    "1",
    "--refine-every",
    "1000",
];

/// Returns the files in `dir` whose names end like this. (Files that are being written are hidden.)
fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).expect("a folder").flatten();
    let paths = entries.map(|entry| entry.path());
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(ending) && !name.starts_with('.')
    };
    let mut found: Vec<PathBuf> = paths.filter(is_wanted).collect();
    found.sort();
    found
}

/// Follows an example from an early version to its last one into the file `into`, and returns the
/// folder with what it has written. `ending` is that of the files that appear.
fn follow(example: &str, args: &[&str], into: &str, ending: &str) -> TempDir {
    let dir = TempDir::new().expect("a new folder");
    let simulation = Simulation::start(example, &name(example), dir.path(), args);
    let file = dir.path().join(into);
    let export = ["export", &simulation.name, text(&file), "--follow"];
    let mut follower = start("tcasm", &export);
    poll_until("a version is appended", || {
        (!files(dir.path(), ending).is_empty()).then_some(())
    });
    let lines = simulation.finish();
    assert!(lines.len() >= 1200, "{} lines", lines.len());
    assert_eq!(follower.wait().code(), Some(0));
    dir
}

/// Lets a script compare `files` with the plain file in `dir`. `mode` is `all` for a series, which
/// must have the last version, and versions of several lengths, or `some`.
fn compare(script: &str, mode: &str, dir: &Path, files: &[PathBuf]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = Command::new(root.join("ci/python-env.sh")).status();
    assert!(made.expect("it starts").success(), "ci/python-env.sh fails");
    let mut python = Command::new(root.join("target/venv/bin/python"));
    python
        .arg("-B")
        .arg(root.join("tests/tests/followed").join(script))
        .args([mode, text(&dir.join("dump"))])
        .args(files)
        .env("PYTHONPATH", root.join("checkpoint/tests"));
    let output = python.output().expect("Python starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("versions agree"), "{told}");
}

#[test]
fn particles_in_a_series_of_files_are_read_by_vtk() {
    let dir = follow("md", &MD, "md.vtkhdf.series", ".vtkhdf");
    let files = files(dir.path(), ".vtkhdf");
    compare("particles.py", "all", dir.path(), &files);
}

#[test]
fn particles_in_a_temporal_file_are_read_by_vtk() {
    let dir = follow("md", &MD, "md.vtkhdf", ".vtkhdf");
    let files = files(dir.path(), ".vtkhdf");
    compare("particles.py", "all", dir.path(), &files);
}

#[test]
fn particles_in_an_openpmd_series_are_read_by_openpmd_api() {
    let dir = follow("md", &MD, "md_%T.h5", ".h5");
    let series = dir.path().join("md_%T.h5");
    compare("particles.py", "all", dir.path(), &[series]);
}

#[test]
fn refined_mesh_in_a_series_of_files_is_read_by_vtk() {
    let dir = follow("fem", &FEM, "fem.vtkhdf.series", ".vtkhdf");
    let files = files(dir.path(), ".vtkhdf");
    compare("cells.py", "all", dir.path(), &files);
}

#[test]
fn refined_mesh_in_a_temporal_file_is_read_by_vtk() {
    let dir = follow("fem", &FEM, "fem.vtkhdf", ".vtkhdf");
    let files = files(dir.path(), ".vtkhdf");
    compare("cells.py", "all", dir.path(), &files);
}

/// Exports the newest version of an example into the files, and has the script compare them.
fn export_one(example: &str, args: &[&str], into: &[&str], script: &str) {
    let dir = TempDir::new().expect("a new folder");
    let simulation = Simulation::start(example, &name(example), dir.path(), args);
    let files: Vec<PathBuf> = into.iter().map(|file| dir.path().join(file)).collect();
    for file in &files {
        let mut export = start("tcasm", &["export", &simulation.name, text(file)]);
        assert_eq!(export.wait().code(), Some(0), "{file:?}");
    }
    drop(simulation);
    compare(script, "some", dir.path(), &files);
}

#[test]
fn one_version_of_particles_is_read_by_vtk_and_openpmd_api() {
    export_one("md", &MD, &["one.vtkhdf", "one.h5"], "particles.py");
}

#[test]
fn one_version_of_an_unstructured_mesh_is_read_by_vtk() {
    export_one("fem", &FEM, &["one.vtkhdf"], "cells.py");
}
