//! Real h5py, VTK and openPMD-api read the files, and agree on every value.

mod common;

use common::{LAYOUTS, PLAIN, STAMP, Version, field};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tcasm_checkpoint::{Checkpointer, Compression, Layout, Options};
use tcasm_core::field::{Attr, Centering, DType, FieldDesc, Kind, Mesh, Order};
use tcasm_core::format::stamp::Stamp;

/// Returns a Python with h5py, VTK and openPMD-api. Without one these tests fail, because nothing
/// else shows that other programs can read the files.
fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = Command::new(root.join("ci/python-env.sh"))
        .status()
        .unwrap();
    assert!(
        made.success(),
        "ci/python-env.sh made no Python environment"
    );
    root.join("target/venv/bin/python")
}

fn check(dir: &Path, cases: &[Value]) {
    std::fs::write(dir.join("manifest.json"), json!(cases).to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_back.py");
    let output = Command::new(python())
        .arg("-B") // writes no compiled scripts among the sources
        .arg(script)
        .arg(dir)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    let fields: usize = cases
        .iter()
        .map(|c| c["fields"].as_array().unwrap().len())
        .sum();
    let agreed = format!("{} files, {fields} fields agree\n", cases.len());
    assert_eq!(text(&output.stdout), agreed);
}

/// Returns what the script must know of a file. VTK cannot show the fields in `off_grid`.
fn case(
    dir: &Path,
    file: &str,
    version: &Version,
    stamp: Stamp,
    points: [usize; 3],
    off_grid: &[&str],
) -> Value {
    let fields = version.table.fields.iter().map(|field| {
        let dump = format!("{file}.{}.bin", field.name);
        std::fs::write(dir.join(&dump), &version.bytes[&field.name]).unwrap();
        let mut described = serde_json::to_value(field).unwrap();
        described["dump"] = dump.into();
        described["on_grid"] = (!off_grid.contains(&field.name.as_str())).into();
        described
    });
    json!({ "file": file, "stamp": stamp, "points": points, "fields": fields.collect::<Vec<_>>() })
}

struct Files {
    dir: tempfile::TempDir,
    cases: Vec<Value>,
}

impl Files {
    fn new() -> Self {
        Files {
            dir: common::disk(),
            cases: Vec::new(),
        }
    }

    fn add(&mut self, fields: Vec<FieldDesc>, points: [usize; 3], off_grid: &[&str]) {
        self.add_version(Version::of(fields), points, off_grid);
    }

    fn add_version(&mut self, version: Version, points: [usize; 3], off_grid: &[&str]) {
        let openpmd = Options {
            layout: Layout::OpenPmd,
            ..PLAIN
        };
        let zstd = Options {
            compression: Compression::Zstd(3),
            ..PLAIN
        };
        for options in [Options::default(), PLAIN, openpmd, zstd] {
            let number = self.cases.len();
            let file = match (options.layout, number % 2) {
                (Layout::VtkHdf, _) => format!("case{number}.vtkhdf"),
                // Either one file of a series, or a series in one file.
                (Layout::OpenPmd, 0) => format!("case{number}_{:08}.h5", STAMP.step),
                (Layout::OpenPmd, _) => format!("case{number}.h5"),
            };
            let path = self.dir.path().join(&file);
            tcasm_checkpoint::write(path, &version.snapshot(STAMP), &options).unwrap();
            let case = case(self.dir.path(), &file, &version, STAMP, points, off_grid);
            self.cases.push(case);
        }
    }

    fn check(self) {
        check(self.dir.path(), &self.cases);
    }
}

fn with(field: FieldDesc, change: impl FnOnce(&mut FieldDesc)) -> FieldDesc {
    let mut field = field;
    change(&mut field);
    field
}

#[test]
fn other_programs_read_fields_on_grids_of_one_two_and_three_dimensions() {
    let mesh = Mesh {
        origin: [1.0, -2.0, 0.5],
        spacing: [0.25, 0.5, 2.0],
    };
    let cell = |f: &mut FieldDesc| f.centering = Centering::Cell;
    let vector = |f: &mut FieldDesc| f.components = 3;
    let mut files = Files::new();
    files.add(
        vec![
            with(field("scalar", DType::F64, &[3, 4, 5]), |f| {
                f.mesh = Some(mesh);
                f.unit = "K".to_owned();
                f.attrs.insert("code".to_owned(), "heat".into());
                f.attrs.insert("level".to_owned(), 3.into());
            }),
            with(field("vector", DType::F32, &[3, 4, 5]), vector),
            with(field("tensor", DType::F64, &[3, 4, 5]), |f| {
                f.components = 9
            }),
            with(field("cells", DType::F64, &[2, 3, 4]), cell),
            with(
                with(field("cell_vector", DType::F64, &[2, 3, 4]), cell),
                vector,
            ),
            with(field("fortran", DType::F64, &[5, 4, 3]), |f| {
                f.order = Order::F
            }),
            with(
                with(field("fortran_vector", DType::F64, &[5, 4, 3]), vector),
                |f| f.order = Order::F,
            ),
            with(field("ghosts", DType::F64, &[5, 7, 6]), |f| {
                f.ghosts = vec![[1, 1], [2, 1], [0, 1]]
            }),
            with(
                with(field("fortran_ghosts", DType::F64, &[6, 7, 5]), vector),
                |f| {
                    f.order = Order::F;
                    f.ghosts = vec![[0, 1], [2, 1], [1, 1]];
                },
            ),
            with(
                with(field("cell_ghosts", DType::I32, &[4, 5, 6]), cell),
                |f| f.ghosts = vec![[1, 1]; 3],
            ),
            field("complex", DType::C64, &[3, 4, 5]),
            field("complex32", DType::C32, &[7]),
            field("elsewhere", DType::F64, &[5, 4, 3]),
            field("four_dims", DType::F64, &[2, 3, 4, 5]),
            field("number", DType::F64, &[]),
            with(field("number_vector", DType::F64, &[]), vector),
            with(field("with-hyphen", DType::F64, &[3, 4, 5]), |f| {
                f.attrs.insert("none".to_owned(), Attr::Floats(vec![]));
            }),
            with(field("pair", DType::F64, &[3, 4, 5]), |f| f.components = 2),
            with(field("particles", DType::U8, &[7]), |f| {
                f.components = 24;
                f.kind = Kind::Raw {
                    type_name: "Particle".to_owned(),
                    align: 8,
                };
            }),
        ],
        [3, 4, 5],
        &[
            "complex",
            "complex32",
            "elsewhere",
            "four_dims",
            "number",
            "number_vector",
            "particles",
        ],
    );
    for (shape, points, cells) in [
        (vec![4, 5], [1, 4, 5], vec![3, 4]),
        (vec![1, 4, 5], [1, 4, 5], vec![1, 3, 4]),
        (vec![4, 1, 5], [4, 1, 5], vec![3, 1, 4]),
        (vec![4, 5, 1], [4, 5, 1], vec![3, 4, 1]),
        (vec![5], [1, 1, 5], vec![4]),
        (vec![1, 4, 1], [1, 4, 1], vec![1, 3, 1]),
        (vec![2, 5, 1], [2, 5, 1], vec![1, 4, 1]),
        (vec![1, 2, 2], [1, 2, 2], vec![1, 1, 1]),
    ] {
        let around = |n: &[usize]| n.iter().map(|n| n + 2).collect::<Vec<_>>();
        let ghosts = |f: &mut FieldDesc| f.ghosts = vec![[1, 1]; f.shape.len()];
        files.add(
            vec![
                field("scalar", DType::F64, &shape),
                with(field("vector", DType::F64, &shape), vector),
                with(field("cells", DType::F64, &cells), cell),
                with(with(field("cell_vector", DType::F64, &cells), cell), vector),
                with(field("ghosts", DType::F64, &around(&shape)), ghosts),
                with(
                    with(field("cell_ghosts", DType::F64, &around(&cells)), ghosts),
                    cell,
                ),
            ],
            points,
            &[],
        );
    }
    files.add(
        vec![with(field("thin_cells", DType::F64, &[1, 3, 4]), cell)],
        [2, 4, 5],
        &[],
    );
    files.add(
        vec![field("number", DType::I64, &[])],
        [1, 1, 1],
        &["number"],
    );
    files.check();
}

#[test]
fn other_programs_read_fields_of_every_dtype() {
    let mut files = Files::new();
    let real = DType::ALL.into_iter().filter(|d| !d.is_complex());
    let fields = real
        .map(|dtype| field(dtype.name(), dtype, &[3, 4, 5]))
        .collect();
    files.add(fields, [3, 4, 5], &[]);
    files.check();
}

#[test]
fn other_programs_read_fields_that_were_written_past_the_page_cache() {
    let mut ghosts = field("ghosts", DType::F64, &[62, 61, 60]);
    ghosts.ghosts = vec![[1, 1], [1, 0], [0, 0]];
    let mut files = Files::new();
    let fields = vec![field("plain", DType::F64, &[60, 60, 60]), ghosts];
    files.add(fields, [60, 60, 60], &[]);
    files.check();
}

#[test]
fn other_programs_read_rounded_values_and_how_they_are_rounded() {
    let mut vector = field("vector", DType::F32, &[3, 4, 5]);
    vector.components = 3;
    let mut ghosts = field("ghosts", DType::F64, &[7, 4, 6]);
    (ghosts.ghosts, ghosts.order) = (vec![[1, 1], [0, 0], [1, 2]], Order::F);
    let fields = [
        field("scalar", DType::F64, &[3, 4, 5]),
        vector,
        ghosts,
        field("complex", DType::C64, &[3, 4, 5]),
        field("complex32", DType::C32, &[7]),
        field("number", DType::F64, &[]),
        field("count", DType::I32, &[3, 4, 5]),
    ];
    let mut version = Version::noisy(fields);
    version.round(1e-3);
    let mut files = Files::new();
    let off_grid = ["complex", "complex32", "number"];
    files.add_version(version, [3, 4, 5], &off_grid);
    let mut large = Version::noisy([field("large", DType::F64, &[60, 60, 60])]);
    large.round(1e-6);
    files.add_version(large, [60, 60, 60], &[]);
    files.check();
}

#[test]
fn other_programs_read_every_file_of_a_series() {
    LAYOUTS.into_iter().for_each(every_file_of_a_series_in);
}

fn every_file_of_a_series_in(layout: Layout) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        layout,
        ..Options::default()
    };
    let mut checkpointer = Checkpointer::new(dir.path(), "run", options).unwrap();
    let mut cases = Vec::new();
    for i in 0..3 {
        let version = Version::of([field("t", DType::F64, &[3, 4, 5 + i])]);
        let stamp = Stamp {
            version: i as u64,
            step: 10 * i as u64,
            time: 0.5 * i as f64,
        };
        let written = checkpointer.write(&version.snapshot(stamp)).unwrap();
        let file = written.path.file_name().unwrap().to_str().unwrap();
        cases.push(case(dir.path(), file, &version, stamp, [3, 4, 5 + i], &[]));
    }
    check(dir.path(), &cases);
}
