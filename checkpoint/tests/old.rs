//! Files that a program from before named meshes and lengths that change has written. They are
//! read, verified, restored and continued. `old/README.md` says how they were made.

mod common;

use common::{LAYOUTS, PLAIN, Version, field};
use hdf5::H5Type;
use std::path::Path;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Kind, Loaded, Options, SeriesOptions, Settings, Snapshot, TimeSeries,
    Verifier,
};
use tcasm_core::field::{Attr, DType, FieldDesc, Mesh};
use tcasm_core::format::stamp::Stamp;
use tcasm_core::num_complex::Complex;
use tempfile::TempDir;

const FULL: &str = "plain_00000002.vtkhdf";
const INCREMENT: &str = "plain_00000003.increment.h5";
const OPENPMD: &str = "plain.h5";
const SERIES: &str = "series.vtkhdf";
const OTHERS: [&str; 5] = [
    "plain.manifest",
    "plain.vtkhdf.series",
    "series.steps/00000001.h5",
    "series.steps/00000002.h5",
    "series.steps/00000003.h5",
];

/// Returns a folder with copies of the files.
fn copies() -> TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old");
    let to = tempfile::tempdir().unwrap();
    std::fs::create_dir(to.path().join("series.steps")).unwrap();
    for file in [FULL, INCREMENT, OPENPMD, SERIES].iter().chain(&OTHERS) {
        let copied = std::fs::copy(from.join(file), to.path().join(file));
        copied.unwrap_or_else(|e| panic!("{file}: {e}"));
    }
    to
}

fn stamp(step: u64) -> Stamp {
    Stamp {
        version: step,
        step,
        time: step as f64 / 8.0,
    }
}

/// Returns the fields, and their values at a step.
fn state(step: u16) -> Version {
    let mesh = Some(Mesh {
        origin: [1.0, 2.0, 0.0],
        spacing: [0.5, 0.25, 1.0],
    });
    let mut u = field("u", DType::F64, &[4, 6]);
    (u.unit, u.mesh) = ("K".to_owned(), mesh);
    let mut mask = field("mask", DType::U8, &[4, 6]);
    mask.mesh = mesh;
    let mut z = field("z", DType::C32, &[5]);
    z.unit = "V".to_owned();
    let mut version = Version::of([u, mask, z]);

    let value = |n: i32| f64::from(step) * 100.0 + f64::from(n / 6 * 10 + n % 6) + 0.5;
    let u: Vec<f64> = (0..24).map(value).collect();
    let mask: Vec<u8> = (0..24).map(|n| n % 3).collect();
    let value = |k: u8| {
        let (step, k) = (f32::from(step), f32::from(k));
        Complex::new(step + k / 4.0, k * step - 1.0)
    };
    let z: Vec<Complex<f32>> = (0..5).map(value).collect();
    let values: [(&str, &[u8]); 3] = [
        ("u", bytemuck::cast_slice(&u)),
        ("mask", mask.as_slice()),
        ("z", bytemuck::cast_slice(&z)),
    ];
    for (name, bytes) in values {
        version.bytes.insert(name.to_owned(), bytes.to_vec());
    }
    version
}

/// Checks that a checkpoint has the fields of the region, and their values at a step.
fn assert_holds(checkpoint: &Checkpoint, step: u16) {
    let expected = state(step);
    assert_eq!(checkpoint.region(), "plain");
    assert_eq!(checkpoint.stamp(), stamp(step.into()));
    assert!(checkpoint.extent().is_some());
    let table = checkpoint.table();
    let anywhere = |field: &FieldDesc| FieldDesc {
        offset: 0,
        ..field.clone()
    };
    let fields: Vec<FieldDesc> = table.fields.iter().map(anywhere).collect();
    assert_eq!(fields, expected.table.fields);
    assert_eq!(table.attrs.get("beta"), Some(&Attr::Float(0.5)));
    assert!(table.meshes.is_empty() && table.lacking.is_empty());
    for field in &table.fields {
        let mut bytes = vec![0xAA; field.bytes() as usize];
        checkpoint.read_bytes(&field.name, &mut bytes).unwrap();
        assert_eq!(bytes, expected.bytes[&field.name], "{}", field.name);
    }
}

#[test]
fn old_checkpoints_are_read_and_verified() {
    let dir = copies();
    for (file, step, files) in [(FULL, 2, 1), (INCREMENT, 3, 2), (OPENPMD, 3, 1)] {
        let path = dir.path().join(file);
        assert_holds(&Checkpoint::open(&path).unwrap(), step);
        let verified = Verifier::new().verify(&path).unwrap();
        assert_eq!((verified.step, verified.files), (step.into(), files));
        assert_eq!(verified.relative_error, None);
    }
}

#[test]
fn old_checkpoints_are_restored_in_each_layout() {
    let (dir, out) = (copies(), tempfile::tempdir().unwrap());
    for (wanted, step) in [(None, 3), (Some(2), 2)] {
        let old = Checkpoint::restart(&[dir.path()], wanted).unwrap();
        assert!(old.passed_over().is_empty(), "{:?}", old.passed_over());
        let old = old.load().unwrap();
        for layout in LAYOUTS {
            let path = out.path().join(format!("{layout:?}_{step}.h5"));
            let options = Options { layout, ..PLAIN };
            tcasm_checkpoint::write(&path, &old.snapshot(), &options).unwrap();
            assert_holds(&Checkpoint::open(&path).unwrap(), step);
        }
    }
}

/// Returns a later step of the old region.
fn later(old: &Loaded, step: u16) -> Version {
    Version {
        table: old.table.clone(),
        bytes: state(step).bytes,
    }
}

fn snapshot<'v>(old: &Loaded, version: &'v Version, step: u16) -> Snapshot<'v> {
    let stamp = stamp(step.into());
    let all = Snapshot::new("plain", stamp, &version.table, move |field| {
        version.bytes[&field.name].as_slice()
    });
    all.at(old.extent)
}

#[test]
fn old_run_of_checkpoints_goes_on() {
    let dir = copies();
    let old = Checkpoint::open(dir.path()).unwrap().load().unwrap();
    let settings = Settings {
        most_files: 9,
        options: PLAIN,
        ..Settings::new(dir.path())
    };
    let mut to = Checkpointer::open("plain", settings).unwrap();
    for step in [4, 5] {
        let version = later(&old, step);
        let snapshot = snapshot(&old, &version, step);
        let filled = to.fill_increment(&snapshot, |f| std::iter::once(0..f.bytes()).collect());
        to.commit(filled.unwrap()).unwrap();
    }
    let items = to.contents().items;
    let kinds: Vec<Kind> = items.into_values().map(|item| item.entry.kind).collect();
    let increment = |base| Kind::Increment { base };
    assert_eq!(kinds, [Kind::Full, increment(2), Kind::Full, increment(4)]);
    drop(to);
    for step in 2..=5 {
        let found = Checkpoint::restart(&[dir.path()], Some(step.into())).unwrap();
        assert_holds(&found, step);
    }
}

/// Returns the values of a dataset of a series.
fn read<T: H5Type + bytemuck::Pod>(file: &hdf5::File, path: &str) -> Vec<u8> {
    let values: Vec<T> = file.dataset(path).unwrap().read_raw().unwrap();
    bytemuck::cast_slice(&values).to_vec()
}

/// Checks that a series has these steps.
fn assert_series(path: &Path, steps: &[u16]) {
    let file = hdf5::File::open(path).unwrap();
    let numbers: Vec<u64> = steps.iter().map(|step| u64::from(*step)).collect();
    assert_eq!(
        read::<u64>(&file, "tcasm/step"),
        bytemuck::cast_slice::<u64, u8>(&numbers)
    );
    let expected = |name: &str| -> Vec<u8> {
        let all = steps.iter().map(|step| state(*step).bytes[name].clone());
        all.flatten().collect()
    };
    assert_eq!(read::<f64>(&file, "VTKHDF/PointData/u"), expected("u"));
    assert_eq!(read::<u8>(&file, "VTKHDF/PointData/mask"), expected("mask"));
    assert_eq!(read::<Complex<f32>>(&file, "tcasm/fields/z"), expected("z"));
}

#[test]
fn old_series_is_read_and_goes_on() {
    let dir = copies();
    let path = dir.path().join(SERIES);
    assert_series(&path, &[1, 2, 3]);
    let old = Checkpoint::open(dir.path().join(FULL)).unwrap();
    let old = old.load().unwrap();
    let mut series = TimeSeries::open(&path, "plain", SeriesOptions::default()).unwrap();
    assert_eq!(series.last(), Some(stamp(3)));
    let version = later(&old, 4);
    let appended = series.append(&snapshot(&old, &version, 4), |_| true);
    assert_eq!(appended.unwrap().versions, 4);
    drop(series);
    assert_series(&path, &[1, 2, 3, 4]);
}
