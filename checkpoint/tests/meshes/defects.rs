//! Cells that VTK cannot have.

use crate::build::{Kind, Spec, build};
use crate::common::{PLAIN, STAMP, Version};
use crate::files::assert_restores;
use std::cell::Cell;
use std::path::Path;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Options, Purpose, SeriesOptions, Settings, Snapshot, TimeSeries,
    WriteError,
};
use tcasm_core::field::{CellType, DType};
use tcasm_core::format::stamp::Stamp;

/// Versions with a wrong value, and what the error says.
fn wrong() -> Vec<(Version, &'static str)> {
    let tetras = || build(&[Spec::new(Kind::Same(CellType::TETRA, 3, 6, DType::I64))]);
    let types = vec![CellType::TETRA, CellType::TRIANGLE];
    let mixed = || {
        let kind = Kind::Mixed(types.clone(), 6, [DType::I32, DType::I32]);
        build(&[Spec::new(kind)])
    };
    let with = |mut version: Version, name: &str, at: usize, bytes: &[u8]| {
        let field = version.bytes.get_mut(name).unwrap();
        let start = at * bytes.len();
        field[start..start + bytes.len()].copy_from_slice(bytes);
        version
    };
    let wide = |value: i64| value.to_le_bytes();
    let narrow = |value: i32| value.to_le_bytes();
    vec![
        (
            with(tetras(), "m0_ids", 7, &wide(6)),
            "cell 1 has the point 6, but the mesh has 6 points",
        ),
        (
            with(tetras(), "m0_ids", 0, &wide(-1)),
            "cell 0 has the point -1, but the mesh has 6 points",
        ),
        (
            with(mixed(), "m0_ids", 5, &narrow(i32::MAX)),
            "cell 1 has the point 2147483647, but the mesh has 6 points",
        ),
        (
            with(mixed(), "m0_offsets", 1, &narrow(9)),
            "cell 0 ends at 9 of the connectivity, which has 7 values",
        ),
        (
            with(mixed(), "m0_offsets", 2, &narrow(3)),
            "cell 1 begins at 4 and ends at 3 of the connectivity",
        ),
        (
            with(mixed(), "m0_types", 1, &[42]),
            "cell 1 has VTK's type 42, which is not supported",
        ),
        (
            with(mixed(), "m0_types", 0, &[12]),
            "cell 0 of VTK's type 12 has 4 points, not 8",
        ),
    ]
}

fn assert_says(error: &WriteError, text: &str) {
    assert!(matches!(error, WriteError::Cells { .. }), "{error}");
    assert!(error.to_string().contains(text), "{error}");
    assert!(error.to_string().contains("\"m0\""), "{error}");
}

#[test]
fn export_of_wrong_cells_is_refused_with_the_cell_the_value_and_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wrong.vtkhdf");
    for (version, text) in wrong() {
        let snapshot = version.snapshot(STAMP);
        assert_says(
            &tcasm_checkpoint::write(&path, &snapshot, &PLAIN).unwrap_err(),
            text,
        );
        assert_says(
            &tcasm_checkpoint::write_new(&path, &snapshot, &PLAIN).unwrap_err(),
            text,
        );
        assert!(!path.exists());
    }
}

#[test]
fn checkpoint_holds_wrong_cells_but_does_not_show_them() {
    for (version, _) in wrong() {
        let dir = tempfile::tempdir().unwrap();
        let mut checkpointer = Checkpointer::new(dir.path(), "run", Options::default()).unwrap();
        let written = checkpointer.write(&version.snapshot(STAMP)).unwrap();
        assert_restores(&Checkpoint::open(dir.path()).unwrap(), &version);
        let file = hdf5::File::open(&written.path).unwrap();
        assert!(file.dataset("VTKHDF/Connectivity").is_err());
        assert!(file.group("VTKHDF").unwrap().attr("WholeExtent").is_ok());
    }
}

#[test]
fn series_of_files_for_other_programs_leaves_out_a_version_with_wrong_cells() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        purpose: Purpose::Export,
        ..Settings::new(dir.path())
    };
    let mut to = Checkpointer::open("run", settings).unwrap();
    for (version, text) in wrong() {
        assert_says(&to.write(&version.snapshot(STAMP)).unwrap_err(), text);
    }
    let good = build(&[Spec::new(Kind::Same(CellType::TETRA, 3, 6, DType::I64))]);
    let written = to.write(&good.snapshot(STAMP)).unwrap();
    let file = hdf5::File::open(&written.path).unwrap();
    assert!(file.dataset("VTKHDF/Connectivity").is_ok());
}

#[test]
fn cells_are_read_once_for_the_check_and_once_to_be_stored() {
    let dir = tempfile::tempdir().unwrap();
    let version = build(&[Spec::new(Kind::Same(CellType::TETRA, 3, 6, DType::I64))]);
    let count = Cell::new(0);
    let snapshot = Snapshot::new("test", STAMP, &version.table, |field| {
        count.set(count.get() + usize::from(field.name == "m0_ids"));
        &version.bytes[&field.name]
    });
    let path = dir.path().join("good.vtkhdf");
    tcasm_checkpoint::write(&path, &snapshot, &PLAIN).unwrap();
    assert_eq!(count.get(), 2);
}

#[test]
fn series_leaves_out_a_version_with_wrong_cells_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let good = build(&[Spec::new(Kind::Same(CellType::TETRA, 3, 6, DType::I64))]);
    let mut series = TimeSeries::open(&path, "test", SeriesOptions::default()).unwrap();
    let at = |step| Stamp { step, ..STAMP };
    series.append(&good.snapshot(at(1)), |_| true).unwrap();
    let (wrong, text) = &wrong()[0];
    assert_says(
        &series.append(&wrong.snapshot(at(2)), |_| true).unwrap_err(),
        text,
    );
    series.append(&good.snapshot(at(3)), |_| true).unwrap();
    assert_eq!(steps(&path), [1, 3]);
}

fn steps(path: &Path) -> Vec<u64> {
    let file = hdf5::File::open(path).unwrap();
    file.dataset("tcasm/step").unwrap().read_raw().unwrap()
}
