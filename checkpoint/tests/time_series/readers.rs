//! Series of all kinds at several moments, as other programs read them.

use crate::common::{Version, field};
use crate::{stamp, version};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use tcasm_checkpoint::{Compression, SeriesOptions, TimeSeries};
use tcasm_core::field::{Centering, DType, FieldDesc, Kind, Mesh, Order};

/// Returns a Python with h5py, VTK and PyVista. Without one these tests fail, because nothing else
/// shows that other programs can read the files.
fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = Command::new(root.join("ci/python-env.sh")).status();
    assert!(made.unwrap().success(), "ci/python-env.sh made no Python");
    root.join("target/venv/bin/python")
}

fn with(field: FieldDesc, change: impl FnOnce(&mut FieldDesc)) -> FieldDesc {
    let mut field = field;
    change(&mut field);
    field
}

/// Series that grow, and what readers must find at each moment.
struct Grown {
    dir: tempfile::TempDir,
    cases: Vec<Value>,
}

impl Grown {
    fn new() -> Self {
        Grown {
            dir: tempfile::tempdir().unwrap(),
            cases: Vec::new(),
        }
    }

    /// Grows a series, and has it read when it has 1, 2 and all versions.
    fn grow(&mut self, fields: &[FieldDesc], points: [usize; 3], off_grid: &[&str], count: u64) {
        for compression in [
            Compression::None,
            Compression::Deflate(1),
            Compression::Zstd(3),
        ] {
            // One of them has chapters of two versions: 1 and 2, 3 and 4.
            let few = matches!(compression, Compression::Deflate(_));
            let options = SeriesOptions {
                compression,
                chapter: if few { 2 } else { 256 },
                ..SeriesOptions::default()
            };
            let name = format!("series{}", self.cases.len());
            let path = self.dir.path().join(format!("{name}.vtkhdf"));
            let mut series = TimeSeries::open(&path, "test", options).unwrap();
            let mut versions = Vec::new();
            for n in 1..=count {
                let version = version(fields, n);
                let appended = series
                    .append(&version.snapshot(stamp(n)), |_| true)
                    .unwrap();
                assert_eq!(appended.versions as u64, n);
                versions.push(self.described(&name, &version, n, off_grid));
                if [1, 2, count].contains(&n) {
                    self.moment(&name, n, points, &versions);
                }
            }
        }
    }

    fn described(&self, name: &str, version: &Version, n: u64, off_grid: &[&str]) -> Value {
        let fields = version.table.fields.iter().map(|field| {
            let dump = format!("{name}.{n}.{}.bin", field.name);
            std::fs::write(self.dir.path().join(&dump), &version.bytes[&field.name]).unwrap();
            let mut described = serde_json::to_value(field).unwrap();
            described["dump"] = dump.into();
            described["on_grid"] = (!off_grid.contains(&field.name.as_str())).into();
            described
        });
        json!({ "stamp": stamp(n), "fields": fields.collect::<Vec<_>>() })
    }

    /// Copies the series with its rows as they are now. A series can be moved with its rows.
    fn moment(&mut self, name: &str, n: u64, points: [usize; 3], versions: &[Value]) {
        let to = self.dir.path().join(format!("{name}_at_{n}"));
        std::fs::create_dir_all(&to).unwrap();
        for part in ["vtkhdf", "steps"] {
            let from = self.dir.path().join(format!("{name}.{part}"));
            let copied = Command::new("cp").arg("-r").arg(from).arg(&to).status();
            assert!(copied.unwrap().success());
        }
        let times: Vec<f64> = (1..=n).map(|n| stamp(n).time).collect();
        let file = format!("{name}_at_{n}/{name}.vtkhdf");
        self.cases.push(json!({
            "file": file, "points": points, "times": times, "versions": versions,
        }));
    }

    fn check(self) {
        let manifest = json!(self.cases).to_string();
        std::fs::write(self.dir.path().join("manifest.json"), manifest).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/time_series.py");
        let output = Command::new(python())
            .args([
                "-B".as_ref(),
                script.as_os_str(),
                self.dir.path().as_os_str(),
            ])
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let told = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{told}");
        let versions = self
            .cases
            .iter()
            .map(|c| c["versions"].as_array().unwrap().len());
        let (count, versions) = (self.cases.len(), versions.sum::<usize>());
        let agreed = format!("{count} series, {versions} versions agree\n");
        assert_eq!(text(&output.stdout), agreed);
    }
}

#[test]
fn other_programs_read_every_version_of_growing_series() {
    let cell = |f: &mut FieldDesc| f.centering = Centering::Cell;
    let vector = |f: &mut FieldDesc| f.components = 3;
    let mut grown = Grown::new();
    let solid = [
        with(field("scalar", DType::F64, &[3, 4, 5]), |f| {
            f.mesh = Some(Mesh {
                origin: [1.0, -2.0, 0.5],
                spacing: [0.25, 0.5, 2.0],
            });
            f.unit = "K".to_owned();
        }),
        field("still_scalar", DType::F64, &[3, 4, 5]),
        with(field("vector", DType::F32, &[3, 4, 5]), vector),
        with(field("cells", DType::F64, &[2, 3, 4]), cell),
        with(field("cell_vector", DType::F64, &[2, 3, 4]), |f| {
            cell(f);
            vector(f);
        }),
        with(field("fortran", DType::F64, &[5, 4, 3]), |f| {
            f.order = Order::F
        }),
        with(field("fortran_ghosts", DType::F64, &[6, 7, 5]), |f| {
            f.order = Order::F;
            f.components = 3;
            f.ghosts = vec![[0, 1], [2, 1], [1, 1]];
        }),
        with(field("cell_ghosts", DType::I32, &[4, 5, 6]), |f| {
            cell(f);
            f.ghosts = vec![[1, 1]; 3];
        }),
        with(field("still_ghosts", DType::F64, &[5, 6, 7]), |f| {
            f.ghosts = vec![[1, 1]; 3]
        }),
        field("complex", DType::C64, &[3, 4, 5]),
        field("elsewhere", DType::F64, &[5, 4, 3]),
        field("number", DType::F64, &[]),
        with(field("particles", DType::U8, &[7]), |f| {
            f.components = 24;
            f.kind = Kind::Raw {
                type_name: "Particle".to_owned(),
                align: 8,
            };
        }),
    ];
    let off_grid = ["complex", "elsewhere", "number", "particles"];
    grown.grow(&solid, [3, 4, 5], &off_grid, 5);
    for (shape, points, cells) in [
        (vec![4, 5], [1, 4, 5], vec![3, 4]),
        (vec![1, 4, 5], [1, 4, 5], vec![1, 3, 4]),
        (vec![4, 5, 1], [4, 5, 1], vec![3, 4, 1]),
        (vec![5], [1, 1, 5], vec![4]),
    ] {
        let ghosts = |f: &mut FieldDesc| {
            f.shape.iter_mut().for_each(|n| *n += 2);
            f.ghosts = vec![[1, 1]; f.shape.len()];
        };
        let fields = [
            field("scalar", DType::F64, &shape),
            with(field("vector", DType::F64, &shape), vector),
            with(field("cells", DType::F64, &cells), cell),
            with(field("ghosts", DType::F64, &shape), ghosts),
        ];
        grown.grow(&fields, points, &[], 3);
    }
    grown.check();
}

#[test]
fn other_programs_read_series_of_every_dtype() {
    let mut grown = Grown::new();
    let real = DType::ALL.into_iter().filter(|d| !d.is_complex());
    let fields: Vec<FieldDesc> = real
        .map(|dtype| field(dtype.name(), dtype, &[3, 4, 5]))
        .collect();
    grown.grow(&fields, [3, 4, 5], &[], 3);
    grown.check();
}
