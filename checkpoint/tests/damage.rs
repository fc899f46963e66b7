//! Damaged, cut and foreign files give an error that says so. They never cause a panic, a crash or
//! a wrong value.

mod common;

use common::{PLAIN, STAMP, Version, field, mixed};
use std::fs;
use std::path::Path;
use tcasm_checkpoint::{Checkpoint, Checkpointer, Options, ReadError};
use tcasm_core::field::DType;
use tcasm_core::format::stamp::Stamp;

/// Opens the file and reads all of it. It must hold `mixed()`: returns an error, or checks the
/// values.
fn read_all(path: &Path) -> Result<(), ReadError> {
    let checkpoint = Checkpoint::open(path)?;
    let version = mixed();
    assert_eq!(checkpoint.table(), &version.table);
    for field in &version.table.fields {
        let mut buffer = vec![0; field.bytes() as usize];
        checkpoint.read_bytes(&field.name, &mut buffer)?;
        assert!(
            buffer == version.bytes[&field.name],
            "a wrong value of {:?}",
            field.name
        );
    }
    Ok(())
}

fn written(dir: &Path, options: &Options) -> Vec<u8> {
    let path = dir.join("whole.vtkhdf");
    tcasm_checkpoint::write(&path, &mixed().snapshot(STAMP), options).unwrap();
    read_all(&path).unwrap();
    fs::read(&path).unwrap()
}

#[test]
fn file_cut_at_any_length_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.vtkhdf");
    let whole = written(dir.path(), &Options::default());
    let mut without_seal = 0;
    // All lengths near the ends, where the headers and the seal are, and some in between.
    let near_ends = |n: &usize| *n < 200 || *n + 400 > whole.len() || n.is_multiple_of(61);
    for length in (0..whole.len()).filter(near_ends) {
        fs::write(&path, &whole[..length]).unwrap();
        match read_all(&path) {
            Err(ReadError::CutShort { have, .. }) => assert_eq!(have, length as u64),
            // Only the seal is missing. To HDF5 this is a whole file, which any program may have
            // written.
            Err(ReadError::Foreign(_)) => without_seal += 1,
            other => panic!("{length} of {} bytes: {other:?}", whole.len()),
        }
    }
    assert_eq!(without_seal, 1);
}

#[test]
fn a_flipped_bit_anywhere_is_found_or_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("flipped.vtkhdf");
    for options in [Options::default(), PLAIN] {
        let whole = written(dir.path(), &options);
        let (mut in_fields, mut elsewhere) = (0, 0);
        for at in (0..whole.len()).filter(|at| at % 11 == 0 || at + 300 > whole.len()) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, &bytes).unwrap();
            match read_all(&path) {
                Err(ReadError::DamagedField { .. }) => in_fields += 1,
                Err(_) => elsewhere += 1,
                Ok(()) => {
                    // A compressed stream has bits without meaning. The values were right.
                    let harmless = options.compression != PLAIN.compression;
                    assert!(harmless || in_copy_for_vtk(&path, at), "not found at {at}");
                }
            }
        }
        assert!(
            in_fields > 40 && elsewhere > 1000,
            "{options:?}: {in_fields}, {elsewhere}"
        );
    }
}

/// Returns true if `at` lies in the copy without ghost layers that only VTK reads.
fn in_copy_for_vtk(path: &Path, at: usize) -> bool {
    let file = hdf5::File::open(path).unwrap();
    let copy = file.dataset("VTKHDF/PointData/ghosts").unwrap();
    let from = copy.offset().unwrap();
    (from..from + copy.storage_size()).contains(&(at as u64))
}

#[test]
fn damage_in_a_field_names_the_field_and_spares_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vtkhdf");
    let version = mixed();
    tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &PLAIN).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let vector = &version.bytes["vector"];
    let at = bytes
        .windows(vector.len())
        .position(|w| w == &vector[..])
        .unwrap();
    bytes[at + 5] ^= 1;
    fs::write(&path, bytes).unwrap();

    let checkpoint = Checkpoint::open(&path).unwrap();
    let mut buffer = vec![0; vector.len()];
    let error = checkpoint.read_bytes("vector", &mut buffer).unwrap_err();
    let ReadError::DamagedField { field, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(field, "vector");
    assert!(checkpoint.verify().is_err());
    let mut buffer = vec![0; version.bytes["scalar"].len()];
    checkpoint.read_bytes("scalar", &mut buffer).unwrap();
    assert_eq!(buffer, version.bytes["scalar"]);
}

#[test]
fn files_of_other_programs_are_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other.h5");
    fs::write(&path, "a text\n".repeat(20)).unwrap();
    assert!(matches!(
        Checkpoint::open(&path),
        Err(ReadError::NotHdf5(_))
    ));
    for latest in [false, true] {
        let mut options = hdf5::File::with_options();
        if latest {
            options.with_fapl(|p| p.libver_latest());
        }
        let file = options.create(&path).unwrap();
        file.new_dataset_builder()
            .with_data(&[1, 2, 3])
            .create("x")
            .unwrap();
        file.close().unwrap();
        let opened = Checkpoint::open(&path);
        assert!(matches!(opened, Err(ReadError::Foreign(_))), "{opened:?}");
    }
    let gone = Checkpoint::open(dir.path().join("none.vtkhdf")).unwrap_err();
    assert!(matches!(gone, ReadError::Io { .. }), "{gone}");
}

fn three_checkpoints(dir: &Path) -> Vec<std::path::PathBuf> {
    let version = Version::of([field("t", DType::F64, &[4, 4])]);
    let mut checkpointer = Checkpointer::new(dir, "run", Options::default()).unwrap();
    let write = |step| {
        let stamp = Stamp { step, ..STAMP };
        checkpointer.write(&version.snapshot(stamp)).unwrap().path
    };
    [10, 20, 30].map(write).to_vec()
}

#[test]
fn cut_newest_checkpoint_is_passed_over_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let paths = three_checkpoints(dir.path());
    let list = dir.path().join("run.vtkhdf.series");
    for place in [dir.path(), &list] {
        let newest = Checkpoint::open(place).unwrap();
        assert_eq!(
            (newest.stamp().step, newest.path()),
            (30, paths[2].as_path())
        );
        assert!(newest.passed_over().is_empty());
    }
    let cut = |path: &Path| {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    };
    cut(&paths[2]);
    for place in [dir.path(), &list] {
        let older = Checkpoint::open(place).unwrap();
        assert_eq!(older.stamp().step, 20);
        let [(path, ReadError::CutShort { .. })] = older.passed_over() else {
            panic!("{:?}", older.passed_over());
        };
        assert_eq!(path, &paths[2]);
    }
    cut(&paths[1]);
    cut(&paths[0]);
    let error = Checkpoint::open(dir.path()).unwrap_err();
    let ReadError::NoneUsable(_, tried) = &error else {
        panic!("{error}");
    };
    assert_eq!(tried.len(), 3);
    assert!(error.to_string().contains("run_00000010.vtkhdf"), "{error}");
}

#[test]
fn directory_without_checkpoints_or_with_several_runs_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let error = Checkpoint::open(dir.path()).unwrap_err();
    assert!(matches!(error, ReadError::NoneFound(_)), "{error}");
    let paths = three_checkpoints(dir.path());
    fs::copy(&paths[0], dir.path().join("other_00000010.vtkhdf")).unwrap();
    let error = Checkpoint::open(dir.path()).unwrap_err();
    let ReadError::SeveralNames { names, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(names, &["other", "run"]);
}

#[test]
fn list_that_names_files_elsewhere_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let (inside, outside) = (
        root.path().join("in"),
        root.path().join("out_00000042.vtkhdf"),
    );
    fs::create_dir(&inside).unwrap();
    tcasm_checkpoint::write(&outside, &mixed().snapshot(STAMP), &PLAIN).unwrap();
    fs::copy(&outside, inside.join("in_00000042.vtkhdf")).unwrap();
    let list = inside.join("in.vtkhdf.series");
    let named = |name: &str| {
        let files = serde_json::json!([{"name": name, "time": 0.0}]);
        let text = serde_json::json!({"file-series-version": "1.0", "files": files});
        fs::write(&list, text.to_string()).unwrap();
        Checkpoint::open(&list)
    };
    assert!(named("in_00000042.vtkhdf").is_ok());
    let whole = outside.to_str().unwrap();
    for name in [
        whole,
        "../out_00000042.vtkhdf",
        "../in/in_00000042.vtkhdf",
        "./in_00000042.vtkhdf",
        "in_00000042.vtkhdf/",
        "..",
        ".",
        "",
        "/",
        "\x1b[31m/..",
    ] {
        let error = named(name).unwrap_err();
        assert!(
            matches!(error, ReadError::Elsewhere { .. }),
            "{name:?}: {error}"
        );
        assert!(!error.to_string().contains('\x1b'), "{error}");
    }
}

#[test]
fn invalid_list_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("run.vtkhdf.series");
    for text in ["", "{", "[]", r#"{"files": 3}"#, "\u{0}\u{1}"] {
        fs::write(&list, text).unwrap();
        let error = Checkpoint::open(&list).unwrap_err();
        assert!(
            matches!(error, ReadError::Series { .. }),
            "{text:?}: {error}"
        );
    }
}
