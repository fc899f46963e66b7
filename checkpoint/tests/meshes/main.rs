//! Files and series with named meshes, read by real VTK, PyVista and h5py, which agree on every
//! coordinate, cell and value.

mod build;
#[path = "../common/mod.rs"]
mod common;
mod defects;
mod files;
mod grids;
mod names;
mod openpmd;
mod placed;
mod random;
mod rounded;
mod series;

use common::Version;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tcasm_core::format::stamp::Stamp;

/// Returns a Python with h5py and VTK. Without one these tests fail, because nothing else shows
/// that other programs can read the files.
fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = Command::new(root.join("ci/python-env.sh")).status();
    assert!(made.unwrap().success(), "ci/python-env.sh made no Python");
    root.join("target/venv/bin/python")
}

/// Files, and what other programs must find in them.
struct Files {
    dir: tempfile::TempDir,
    cases: Vec<Value>,
}

impl Files {
    fn new() -> Self {
        Files {
            dir: tempfile::tempdir().unwrap(),
            cases: Vec::new(),
        }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    /// Returns what the script must know of a version.
    fn described(&self, key: &str, version: &Version, stamp: Stamp) -> Value {
        let mut dumps = serde_json::Map::new();
        for (name, bytes) in &version.bytes {
            let dump = format!("{key}.{name}.bin");
            std::fs::write(self.path(&dump), bytes).unwrap();
            dumps.insert(name.clone(), dump.into());
        }
        let mut places = serde_json::Map::new();
        for place in tcasm_checkpoint::places(&version.table) {
            places.insert(place.field, json!(place.shown.unwrap_or_default()));
        }
        json!({ "stamp": stamp, "table": version.table, "dumps": dumps, "places": places })
    }

    /// Adds a file with these versions. If there are several, it is a series.
    fn add(&mut self, file: &str, is_series: bool, versions: &[Value]) {
        let case = json!({ "file": file, "series": is_series, "versions": versions });
        self.cases.push(case);
    }

    /// Has all files read by VTK and h5py. Returns what differs.
    fn differences(&self) -> Result<(), String> {
        self.read(&[])
    }

    /// Has all files read with these options of the script. Returns what differs.
    fn read(&self, options: &[&str]) -> Result<(), String> {
        let manifest = json!(self.cases).to_string();
        std::fs::write(self.path("manifest.json"), manifest).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/meshes.py");
        let mut command = Command::new(python());
        command.arg("-B").arg(script).arg(self.dir.path());
        let output = command.args(options).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let told = text(&output.stdout) + &text(&output.stderr);
        let versions = |case: &Value| case["versions"].as_array().unwrap().len();
        let versions: usize = self.cases.iter().map(versions).sum();
        let agreed = format!("{} files, {versions} versions agree\n", self.cases.len());
        match output.status.success() && text(&output.stdout) == agreed {
            true => Ok(()),
            false => Err(told),
        }
    }

    /// Has all files read, and those of one version by PyVista, too.
    fn check(&self) {
        if let Err(told) = self.read(&["--pyvista"]) {
            panic!("{told}");
        }
    }
}
