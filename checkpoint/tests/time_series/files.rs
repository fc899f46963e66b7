//! Existing files: of other programs, of killed writers, and of programs that read or write now.

use crate::common::{PLAIN, names_in};
use crate::{append, assert_holds, open, simple, stamp, version};
use tcasm_checkpoint::WriteError;

#[test]
fn files_that_are_no_time_series_are_left_alone() {
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
    // A writer leaves this if it is killed before its first version is visible.
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
fn open_file_of_a_reader_does_not_change() {
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
