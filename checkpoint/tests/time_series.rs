//! Time series as they grow, read by real VTK, PyVista and h5py, which agree on every value of every version.

mod common;

use common::{PLAIN, Version, field, names_in};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tcasm_checkpoint::{Appended, Compression, SeriesOptions, TimeSeries, WriteError};
use tcasm_core::field::{Centering, DType, FieldDesc, Kind, Mesh, Order};
use tcasm_core::stamp::Stamp;

/// A Python that has h5py, VTK and PyVista. Without one these tests fail: nothing else tells whether others can read us.
fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let made = Command::new(root.join("ci/python-env.sh")).status();
    assert!(made.unwrap().success(), "ci/python-env.sh made no Python");
    root.join("target/venv/bin/python")
}

fn stamp(n: u64) -> Stamp {
    Stamp {
        version: n,
        step: n * 10,
        time: n as f64 * 0.25,
    }
}

fn with(field: FieldDesc, change: impl FnOnce(&mut FieldDesc)) -> FieldDesc {
    let mut field = field;
    change(&mut field);
    field
}

/// Version `n` of these fields: each value another than in other versions, but of fields called `still_`.
fn version(fields: &[FieldDesc], n: u64) -> Version {
    let mut version = Version::of(fields.iter().cloned());
    for (name, bytes) in &mut version.bytes {
        let dtype = version.table.get(name).unwrap().dtype;
        if !name.starts_with("still_") {
            let turned = (n as usize * dtype.size()) % bytes.len();
            bytes.rotate_left(turned);
        }
    }
    version
}

/// Series that grow, with what readers are to find at each moment.
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

    /// Grow a series, and have it looked at when it has 1, 2 and all versions.
    fn grow(&mut self, fields: &[FieldDesc], points: [usize; 3], off_grid: &[&str], count: u64) {
        for compression in [
            Compression::None,
            Compression::Deflate(1),
            Compression::Zstd(3),
        ] {
            // One of them in chapters: of versions 1 and 2, 3 and 4.
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

    /// A copy of the series as it is now: it can be moved, with its rows.
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
fn every_version_of_growing_series_is_read_as_it_was() {
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
fn series_of_every_dtype() {
    let mut grown = Grown::new();
    let real = DType::ALL.into_iter().filter(|d| !d.is_complex());
    let fields: Vec<FieldDesc> = real
        .map(|dtype| field(dtype.name(), dtype, &[3, 4, 5]))
        .collect();
    grown.grow(&fields, [3, 4, 5], &[], 3);
    grown.check();
}

/// A series at `path`, as the tests write it.
fn open(path: &Path) -> Result<TimeSeries, WriteError> {
    TimeSeries::open(path, "test", options())
}

fn options() -> SeriesOptions {
    SeriesOptions {
        grace: Duration::ZERO,
        compression: PLAIN.compression,
        ..SeriesOptions::default()
    }
}

fn append(series: &mut TimeSeries, fields: &[FieldDesc], n: u64) -> Result<Appended, WriteError> {
    series.append(&version(fields, n).snapshot(stamp(n)), |_| true)
}

/// The bytes of `field` of each version, and the steps, as HDF5 reads them.
fn read(path: &Path, field: &str) -> (Vec<u64>, Vec<Vec<u8>>) {
    let file = hdf5::File::open(path).unwrap();
    let steps = file.dataset("tcasm/step").unwrap().read_raw().unwrap();
    let dataset = file.dataset(&format!("VTKHDF/PointData/{field}")).unwrap();
    let values: Vec<f64> = dataset.read_raw().unwrap();
    let each = values.len() / steps.len();
    let rows = values.chunks(each).map(bytemuck::cast_slice);
    let rows = rows.map(<[u8]>::to_vec).collect();
    (steps, rows)
}

/// `path` holds these versions of the field `t`, and nothing else.
fn assert_holds(path: &Path, fields: &[FieldDesc], versions: &[u64]) {
    let (steps, rows) = read(path, "t");
    let expected: Vec<u64> = versions.iter().map(|n| stamp(*n).step).collect();
    assert_eq!(steps, expected);
    for (row, n) in rows.iter().zip(versions) {
        assert_eq!(row, &version(fields, *n).bytes["t"], "version {n}");
    }
}

fn simple() -> [FieldDesc; 2] {
    ["t", "still_s"].map(|name| field(name, DType::F64, &[4, 5]))
}

#[test]
fn a_field_that_has_not_changed_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let mut series = open(&path).unwrap();
    for n in 1..=3 {
        // Once by its bytes, once because it is said so.
        let version = version(&simple(), n);
        series
            .append(&version.snapshot(stamp(n)), |f| n < 3 || f.name == "t")
            .unwrap();
    }
    assert_holds(&path, &simple(), &[1, 2, 3]);
    let stored = |number: u64, field: &str| {
        let rows = dir.path().join(format!("run.steps/{number:08}.h5"));
        let file = hdf5::File::open(rows).unwrap();
        file.dataset(&format!("tcasm/fields/{field}")).is_ok()
    };
    assert!(stored(1, "still_s") && !stored(2, "still_s") && !stored(3, "still_s"));
    assert!((1..=3).all(|n| stored(n, "t")));
    // A version in which nothing changes takes no file.
    let before = names_in(&dir.path().join("run.steps"));
    let same = version(&simple(), 3);
    series.append(&same.snapshot(stamp(4)), |_| true).unwrap();
    assert_eq!(names_in(&dir.path().join("run.steps")), before);
    assert_eq!(read(&path, "t").1[3], same.bytes["t"]);
    assert_eq!(read(&path, "still_s").1[0], same.bytes["still_s"]);
}

#[test]
fn the_next_start_goes_on_with_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    append(&mut open(&path).unwrap(), &simple(), 1).unwrap();
    let mut series = open(&path).unwrap();
    assert_eq!(series.last(), Some(stamp(1)));
    append(&mut series, &simple(), 2).unwrap();
    let error = append(&mut series, &simple(), 2).unwrap_err();
    assert!(
        matches!(
            error,
            WriteError::Earlier {
                step: 20,
                last: 20,
                ..
            }
        ),
        "{error}"
    );
    assert_holds(&path, &simple(), &[1, 2]);
    drop(series);
    let error = TimeSeries::open(&path, "other", options()).unwrap_err();
    assert!(matches!(error, WriteError::OtherSeries { .. }), "{error}");
    assert_holds(&path, &simple(), &[1, 2]);
}

#[test]
fn what_is_of_later_steps_is_replaced_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let mut series = open(&path).unwrap();
    (1..=4).for_each(|n| drop(append(&mut series, &simple(), n).unwrap()));
    drop(series);
    let replace = SeriesOptions {
        replace_later: true,
        ..options()
    };
    let mut series = TimeSeries::open(&path, "test", replace).unwrap();
    append(&mut series, &simple(), 2).unwrap();
    assert_holds(&path, &simple(), &[1, 2]);
    append(&mut series, &simple(), 3).unwrap();
    assert_holds(&path, &simple(), &[1, 2, 3]);
    drop(series);
    assert_eq!(names_in(&dir.path().join("run.steps")).len(), 3);
}

#[test]
fn the_newest_versions_are_kept_and_what_they_refer_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let keep = SeriesOptions {
        keep: 3,
        ..options()
    };
    let mut series = TimeSeries::open(&path, "test", keep).unwrap();
    (1..=9).for_each(|n| drop(append(&mut series, &simple(), n).unwrap()));
    assert_holds(&path, &simple(), &[7, 8, 9]);
    // The first has the field that never changes; one is left for who has opened the file before.
    let left = [
        "00000001.h5",
        "00000006.h5",
        "00000007.h5",
        "00000008.h5",
        "00000009.h5",
    ];
    assert_eq!(names_in(&dir.path().join("run.steps")), left);
    assert_eq!(
        read(&path, "still_s").1[2],
        version(&simple(), 1).bytes["still_s"]
    );
    drop(series);
    assert_eq!(names_in(&dir.path().join("run.steps")).len(), 4);
    // Given time, all are left, until the writer ends.
    let slow = SeriesOptions {
        grace: Duration::from_secs(600),
        keep: 3,
        ..options()
    };
    let mut series = TimeSeries::open(&path, "test", slow).unwrap();
    (10..=15).for_each(|n| drop(append(&mut series, &simple(), n).unwrap()));
    assert_eq!(names_in(&dir.path().join("run.steps")).len(), 10);
    drop(series);
    assert_eq!(names_in(&dir.path().join("run.steps")).len(), 4);
}

#[test]
fn other_fields_begin_another_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let wider = [field("t", DType::F64, &[4, 6])];
    let mut series = open(&path).unwrap();
    append(&mut series, &simple(), 1).unwrap();
    append(&mut series, &simple(), 2).unwrap();
    let appended = append(&mut series, &wider, 3).unwrap();
    let second = dir.path().join("run_2.vtkhdf");
    assert_eq!((appended.path, appended.versions), (second.clone(), 1));
    append(&mut series, &wider, 4).unwrap();
    drop(series);
    let mut series = open(&path).unwrap();
    assert!(append(&mut series, &wider, 4).is_err());
    append(&mut series, &wider, 5).unwrap();
    assert_holds(&path, &simple(), &[1, 2]);
    assert_holds(&second, &wider, &[3, 4, 5]);
}

#[test]
fn what_is_not_a_time_series_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let refused = |what: &str| {
        let before = std::fs::read(&path).unwrap();
        let error = open(&path).unwrap_err();
        assert!(
            matches!(error, WriteError::NotSeries { .. }),
            "{what}: {error}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), before, "{what}");
    };
    std::fs::write(&path, "a letter").unwrap();
    refused("a text");
    let one = version(&simple(), 1);
    tcasm_checkpoint::write(&path, &one.snapshot(stamp(1)), &PLAIN).unwrap();
    refused("an export");
    std::fs::remove_file(&path).unwrap();
    drop(hdf5::File::create(&path).unwrap());
    refused("another HDF5 file");
    std::fs::remove_file(&path).unwrap();
    append(&mut open(&path).unwrap(), &simple(), 1).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[600] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    refused("a damaged series");
    for name in ["run.h5", ".vtkhdf"] {
        let error = open(&dir.path().join(name)).unwrap_err();
        assert!(matches!(error, WriteError::SeriesName(_)), "{error}");
    }
    let error = open(&dir.path().join("no/run.vtkhdf")).unwrap_err();
    assert!(matches!(error, WriteError::NoDirectory(_)), "{error}");
}

#[test]
fn rows_whose_series_is_gone_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let mut series = open(&path).unwrap();
    append(&mut series, &simple(), 1).unwrap();
    // What a writer leaves that is killed before its first version can be seen.
    std::fs::remove_file(&path).unwrap();
    drop(series);
    let mut series = open(&path).unwrap();
    append(&mut series, &simple(), 1).unwrap();
    append(&mut series, &simple(), 2).unwrap();
    std::fs::remove_file(&path).unwrap();
    drop(series);
    let error = append(&mut open(&path).unwrap(), &simple(), 1).unwrap_err();
    assert!(matches!(error, WriteError::LeftRows { .. }), "{error}");
    assert_eq!(names_in(&dir.path().join("run.steps")).len(), 2);
}

#[test]
fn leftovers_of_killed_writers_are_removed_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    append(&mut open(&path).unwrap(), &simple(), 1).unwrap();
    let rows = dir.path().join("run.steps");
    for leftover in ["00000002.h5", ".00000003.h5.tcasm-1-2.tmp"] {
        std::fs::write(rows.join(leftover), "half").unwrap();
    }
    std::fs::write(dir.path().join(".run.vtkhdf.tcasm-1-2.tmp"), "half").unwrap();
    std::fs::write(rows.join("notes.txt"), "mine").unwrap();
    let mut series = open(&path).unwrap();
    assert_eq!(names_in(&rows), ["00000001.h5", "notes.txt"]);
    assert_eq!(
        names_in(dir.path()),
        [".run.vtkhdf.tcasm-lock", "run.steps", "run.vtkhdf"]
    );
    append(&mut series, &simple(), 2).unwrap();
    assert_holds(&path, &simple(), &[1, 2]);
}

#[test]
fn one_program_at_a_time_writes_a_series() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let _series = open(&path).unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(error, WriteError::Busy { .. }), "{error}");
}

#[test]
fn a_reader_that_holds_the_file_open_keeps_what_it_has_opened() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run 100%b.vtkhdf");
    let mut series = open(&path).unwrap();
    append(&mut series, &simple(), 1).unwrap();
    append(&mut series, &simple(), 2).unwrap();
    let held = hdf5::File::open(&path).unwrap();
    append(&mut series, &simple(), 3).unwrap();
    assert_eq!(
        held.dataset("VTKHDF/PointData/t").unwrap().shape(),
        [2, 4, 5]
    );
    assert_holds(&path, &simple(), &[1, 2, 3]);
}

#[derive(Clone, Debug)]
enum Act {
    /// Append a version: which fields change, and whether the writer is told.
    Append { t: bool, s: bool, told: bool },
    /// End, and start again.
    Restart,
    /// Go back so many versions.
    Back(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let append = (any::<bool>(), any::<bool>(), any::<bool>());
    prop_oneof![
        6 => append.prop_map(|(t, s, told)| Act::Append { t, s, told }),
        1 => Just(Act::Restart),
        1 => (1..4_u64).prop_map(Act::Back),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Against a list of what was appended.
    #[test]
    fn a_series_holds_what_was_appended(acts in prop::collection::vec(act(), 1..24), keep in 2..9_usize, chapter in 2..5_usize) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.vtkhdf");
        let options = SeriesOptions { keep, chapter, replace_later: true, ..options() };
        let mut series = TimeSeries::open(&path, "test", options.clone()).unwrap();
        let fields = ["t", "s"].map(|name| field(name, DType::F64, &[2, 3]));
        let mut model: Vec<(u64, [f64; 2])> = Vec::new();
        let (mut step, mut values) = (0, [0.0, 0.0]);
        for act in acts {
            match act {
                Act::Restart => {
                    drop(series);
                    series = TimeSeries::open(&path, "test", options.clone()).unwrap();
                }
                Act::Back(n) => step = u64::max(step, n) - n,
                Act::Append { t, s, told } => {
                    step += 1;
                    let before = values;
                    values = [values[0] + f64::from(t), values[1] - f64::from(s)];
                    let mut version = Version::of(fields.clone());
                    for (name, value) in ["t", "s"].iter().zip(values) {
                        let bytes = bytemuck::cast_slice(&[value; 6]).to_vec();
                        version.bytes.insert((*name).to_owned(), bytes);
                    }
                    let at = Stamp { version: step, step, time: step as f64 };
                    let changed = |f: &FieldDesc| {
                        let i = usize::from(f.name == "s");
                        !told || before[i] != values[i]
                    };
                    series.append(&version.snapshot(at), changed).unwrap();
                    model.retain(|(there, _)| *there < step);
                    model.push((step, values));
                    let old = model.len().saturating_sub(keep);
                    model.drain(..old);
                }
            }
            if model.is_empty() {
                continue;
            }
            for (i, name) in ["t", "s"].iter().enumerate() {
                let (steps, rows) = read(&path, name);
                prop_assert_eq!(steps, model.iter().map(|(step, _)| *step).collect::<Vec<_>>());
                for (row, (_, values)) in rows.iter().zip(&model) {
                    let all: Vec<u8> = bytemuck::cast_slice(&[values[i]; 6]).to_vec();
                    prop_assert_eq!(row, &all);
                }
            }
        }
    }
}
