//! Rounded values: the bound of the error holds in every kind of file, what is not a float stays
//! exact, and no simulation restarts from such a file unless it accepts that.

mod common;

use common::{LAYOUTS, PLAIN, STAMP, Version, disk, field};
use std::path::Path;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Compression, Options, ReadError, SeriesOptions, Settings, TimeSeries,
    Verifier,
};
use tcasm_core::field::{DType, FieldDesc, Order};
use tcasm_core::format::stamp::Stamp;

const BOUND: f64 = 1e-3;

fn at(step: u64) -> Stamp {
    Stamp { step, ..STAMP }
}

/// Returns a version with floats that are rounded, and others. Two fields are large enough to be
/// written past the page cache.
fn version() -> Version {
    let mut ghosts = field("ghosts", DType::F64, &[62, 60, 61]);
    (ghosts.ghosts, ghosts.order) = (vec![[1, 1], [0, 0], [1, 0]], Order::F);
    let mut pair = field("pair", DType::F32, &[60, 60, 60]);
    pair.components = 2;
    let mut version = Version::noisy([
        field("t", DType::F64, &[60, 60, 60]),
        ghosts,
        pair,
        field("complex", DType::C32, &[9]),
        field("number", DType::F64, &[]),
        field("count", DType::I64, &[60, 60, 60]),
    ]);
    version.round(BOUND);
    version
}

/// Returns the floats in `bytes`, or none if the dtype has none.
fn floats(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    match dtype {
        DType::F32 | DType::C32 => {
            let floats = bytes.as_chunks::<4>().0.iter();
            floats.map(|b| f64::from(f32::from_le_bytes(*b))).collect()
        }
        DType::F64 | DType::C64 => {
            let floats = bytes.as_chunks::<8>().0.iter();
            floats.map(|b| f64::from_le_bytes(*b)).collect()
        }
        _ => Vec::new(),
    }
}

/// Checks that the floats of `checkpoint` are those of `version` within the bound, but not all
/// exactly, and that all other values are the same.
fn assert_near(checkpoint: &Checkpoint, version: &Version) {
    for field in &version.table.fields {
        let mut bytes = vec![0xAA; field.bytes() as usize];
        checkpoint.read_bytes(&field.name, &mut bytes).unwrap();
        let exact = &version.bytes[&field.name];
        let (name, got) = (&field.name, floats(field.dtype, &bytes));
        let is_exact = field.relative_error.is_none() || exact.is_empty();
        assert_eq!(bytes == *exact, is_exact, "{name}");
        for (got, exact) in got.into_iter().zip(floats(field.dtype, exact)) {
            let error = ((got - exact) / exact).abs();
            assert!(error <= BOUND, "{name}: {got} for {exact}");
        }
    }
}

fn bytes_of(checkpoint: &Checkpoint, name: &str) -> Vec<u8> {
    let field = checkpoint.table().get(name).unwrap();
    let mut bytes = vec![0; field.bytes() as usize];
    checkpoint.read_bytes(name, &mut bytes).unwrap();
    bytes
}

#[test]
fn bound_holds_in_each_layout_with_each_compression() {
    let (dir, version) = (disk(), version());
    for layout in LAYOUTS {
        for compression in [
            Compression::None,
            Compression::Deflate(1),
            Compression::Zstd(1),
        ] {
            let options = Options {
                compression,
                layout,
                ..PLAIN
            };
            let path = dir.path().join("x.h5");
            tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &options).unwrap();
            let checkpoint = Checkpoint::open(&path).unwrap();
            assert_eq!(*checkpoint.table(), version.table);
            assert_near(&checkpoint, &version);
            let verified = Verifier::new().verify(&path).unwrap();
            assert_eq!(verified.relative_error, Some(BOUND));
        }
    }
}

#[test]
fn rounded_values_take_less_than_half_the_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut version = Version::noisy([field("t", DType::F64, &[40, 40, 40])]);
    let size = |name: &str, version: &Version| {
        let path = dir.path().join(name);
        tcasm_checkpoint::write(path, &version.snapshot(STAMP), &Options::default()).unwrap()
    };
    let exact = size("exact.vtkhdf", &version);
    version.round(BOUND);
    let lossy = size("lossy.vtkhdf", &version);
    assert!(lossy * 2 < exact, "{lossy} of {exact}");
}

#[test]
fn values_that_are_read_and_written_again_stay_the_same() {
    let (dir, version) = (tempfile::tempdir().unwrap(), version());
    let [first, second] = ["a.vtkhdf", "b.h5"].map(|name| dir.path().join(name));
    tcasm_checkpoint::write(&first, &version.snapshot(STAMP), &PLAIN).unwrap();
    let loaded = Checkpoint::open(&first).unwrap().load().unwrap();
    tcasm_checkpoint::write(&second, &loaded.snapshot(), &PLAIN).unwrap();
    let again = Checkpoint::open(&second).unwrap().load().unwrap();
    assert!(again == loaded);
}

/// Fills checkpoints of `run` in `dir`.
fn checkpointer(dir: &Path, compression: Compression) -> Checkpointer {
    let settings = Settings {
        most_files: 3,
        options: Options {
            compression,
            ..PLAIN
        },
        ..Settings::new(dir)
    };
    Checkpointer::open("run", settings).unwrap()
}

#[test]
fn increments_hold_rounded_values_and_exact_ones_do_not_build_on_them() {
    for compression in [Compression::None, Compression::Deflate(1)] {
        let (dir, mut version) = (disk(), version());
        let mut to = checkpointer(dir.path(), compression);
        to.write(&version.snapshot(at(1))).unwrap();
        for step in 2..=3 {
            let bytes = version.bytes.get_mut("t").unwrap();
            for (i, value) in bytes.chunks_exact_mut(8).enumerate() {
                value.copy_from_slice(&(i as f64 * 0.3 + step as f64).cos().to_le_bytes());
            }
            assert!(to.can_increment(&version.table));
            let all = |field: &FieldDesc| {
                let changed = (field.name == "t").then(|| 0..field.bytes());
                changed.into_iter().collect::<Vec<_>>()
            };
            let filled = to.fill_increment(&version.snapshot(at(step)), all).unwrap();
            let written = to.commit(filled).unwrap();
            assert!(written.path.to_str().unwrap().contains("increment"));
            let checkpoint = Checkpoint::open(&written.path).unwrap();
            checkpoint.verify().unwrap();
            assert_near(&checkpoint, &version);
        }
        let contents = to.contents();
        let bounds = contents.items.values().map(|i| i.entry.relative_error);
        assert_eq!(bounds.collect::<Vec<_>>(), [Some(BOUND); 3]);
    }
    let dir = tempfile::tempdir().unwrap();
    let mut version = version();
    let mut to = checkpointer(dir.path(), Compression::None);
    to.write(&version.snapshot(at(1))).unwrap();
    assert!(to.can_increment(&version.table));
    let rounded = version.table.clone();
    for field in &mut version.table.fields {
        field.relative_error = None;
    }
    assert!(!to.can_increment(&version.table));
    to.write(&version.snapshot(at(2))).unwrap();
    assert!(!to.can_increment(&rounded));
}

#[test]
fn values_beyond_the_older_length_of_a_field_are_rounded_in_increments() {
    for compression in [Compression::None, Compression::Deflate(1)] {
        let dir = tempfile::tempdir().unwrap();
        let mut to = checkpointer(dir.path(), compression);
        for (step, length) in (1..).zip([600, 900, 0, 0, 650, 700]) {
            let mut t = field("t", DType::F64, &[length]);
            t.capacity = Some(1000);
            let mut version = Version::noisy([t, field("count", DType::I64, &[30])]);
            version.round(BOUND);
            // No page has changed. Only the length has.
            let snapshot = version.snapshot(at(step));
            let filled = to.fill_increment(&snapshot, |_| Vec::new()).unwrap();
            let path = to.commit(filled).unwrap().path;
            let is_increment = path.to_str().unwrap().contains("increment");
            assert_eq!(is_increment, !matches!(step, 1 | 4), "{}", path.display());
            let checkpoint = Checkpoint::open(&path).unwrap();
            checkpoint.verify().unwrap();
            assert_near(&checkpoint, &version);
        }
    }
}

#[test]
fn restart_takes_rounded_values_only_if_they_are_accepted() {
    let (dir, version) = (tempfile::tempdir().unwrap(), version());
    let mut to = checkpointer(dir.path(), Compression::Deflate(1));
    let file = to.write(&version.snapshot(at(1))).unwrap().path;
    let refused = |found: Result<Checkpoint, ReadError>| match found.unwrap_err() {
        ReadError::Lossy {
            path,
            fields,
            relative_error,
        } => {
            assert_eq!((path, relative_error), (file.clone(), BOUND));
            assert_eq!(fields, ["t", "ghosts", "pair", "complex", "number"]);
        }
        error => panic!("{error}"),
    };
    refused(Checkpoint::restart(&[dir.path()], None));
    refused(Checkpoint::restart(&[dir.path()], Some(1)));
    refused(Checkpoint::restart(&[&file], None));
    refused(Checkpoint::restart_named(&[dir.path()], "run", None));
    for name in [None, Some("run")] {
        let accepted = Checkpoint::restart_lossy(&[dir.path()], name, Some(1)).unwrap();
        assert!(accepted.allows_lossy());
        assert_near(&accepted, &version);
    }
    // Programs that only look at the file need not accept anything.
    let opened = Checkpoint::open(dir.path()).unwrap();
    assert!(!opened.allows_lossy() && opened.allow_lossy().allows_lossy());
}

#[test]
fn series_goes_on_in_another_file_if_the_bound_changes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let mut version = Version::noisy([
        field("t", DType::F64, &[20, 30]),
        field("count", DType::I32, &[20, 30]),
    ]);
    let exact = floats(DType::F64, &version.bytes["t"]);
    let append = |version: &Version, step: u64| {
        // A writer that has been started again finds the bound in the file.
        let mut series = TimeSeries::open(&path, "test", SeriesOptions::default()).unwrap();
        series
            .append(&version.snapshot(at(step)), |_| true)
            .unwrap()
    };
    for (step, bound, file, versions) in [
        (1, Some(BOUND), "run.vtkhdf", 1),
        (2, Some(BOUND), "run.vtkhdf", 2),
        (3, None, "run_2.vtkhdf", 1),
        (4, None, "run_2.vtkhdf", 2),
        (5, Some(1e-2), "run_3.vtkhdf", 1),
    ] {
        match bound {
            Some(bound) => version.round(bound),
            None => version.table.fields[0].relative_error = None,
        }
        let appended = append(&version, step);
        assert_eq!(
            (appended.path, appended.versions),
            (dir.path().join(file), versions)
        );
        let series = hdf5::File::open(dir.path().join(file)).unwrap();
        let t = series.dataset("VTKHDF/PointData/t").unwrap();
        let there = t.attr("relative_error").ok();
        let there = there.map(|attr| attr.read_scalar::<f64>().unwrap());
        assert_eq!(there, bound, "step {step}");
        let values: Vec<f64> = t.read_raw().unwrap();
        let newest = &values[values.len() - exact.len()..];
        let error = |(got, exact): (&f64, &f64)| ((got - exact) / exact).abs();
        let largest = newest.iter().zip(&exact).map(error).fold(0.0, f64::max);
        assert!(largest <= bound.unwrap_or(0.0), "step {step}: {largest}");
        assert_eq!(largest == 0.0, bound.is_none(), "step {step}");
        let count = series.dataset("VTKHDF/PointData/count").unwrap();
        assert!(count.attr("relative_error").is_err());
    }
}

#[test]
fn values_without_a_relative_error_are_stored_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let special = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        5e-324,
        f64::MIN_POSITIVE.next_down(),
        f64::MAX,
        f64::MIN,
    ];
    let mut version = Version::noisy([field("t", DType::F64, &[8])]);
    version.round(BOUND);
    let bytes: Vec<u8> = special.iter().flat_map(|v| v.to_le_bytes()).collect();
    version.bytes.insert("t".to_owned(), bytes.clone());
    let path = dir.path().join("x.vtkhdf");
    tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &Options::default()).unwrap();
    assert_eq!(bytes_of(&Checkpoint::open(&path).unwrap(), "t"), bytes);
}
