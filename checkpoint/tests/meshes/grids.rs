//! Rectilinear and curvilinear meshes. VTK needs points and cells for them, which are larger than a
//! field: only exports have these, and time series have them once.

use crate::build::{Datum, Kind, Spec, build};
use crate::common::{PLAIN, STAMP, Version};
use crate::files::assert_restores;
use crate::series::{stamp, versions};
use std::path::Path;
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Purpose, SeriesOptions, Settings, TimeSeries, places,
};
use tcasm_core::field::{Centering, DType, Order};

/// The number of points along each axis.
const ALONG: usize = 30;
/// Room for the structures of HDF5.
const STRUCTURES: u64 = 64 << 10;

/// Returns grids, and the bytes that an export takes for each point besides the fields, as
/// `docs/paraview.md` says.
fn grids() -> [(Kind, u64); 2] {
    [
        (Kind::Rectilinear(vec![ALONG; 3]), 61),
        (Kind::Curvilinear(vec![ALONG; 3], Order::C, false), 37),
    ]
}

/// Returns a version with a mesh, and a field of this type on its points.
fn version(kind: Kind, dtype: DType) -> Version {
    let datum = Datum {
        centering: Centering::Point,
        dtype,
        components: 1,
    };
    let data = vec![datum];
    build(&[Spec {
        data,
        ..Spec::new(kind)
    }])
}

/// Returns true if the file at `path` shows a mesh with points and cells.
fn has_cells(path: &Path) -> bool {
    let file = hdf5::File::open(path).unwrap();
    let has = |name: &str| file.dataset(name).is_ok();
    assert_eq!(has("VTKHDF/Points"), has("VTKHDF/Connectivity"));
    has("VTKHDF/Points")
}

#[test]
fn checkpoint_holds_a_grid_without_the_points_and_cells_that_an_export_has() {
    for (kind, per_point) in grids() {
        let (dir, version) = (tempfile::tempdir().unwrap(), version(kind, DType::F64));
        let mut to = Checkpointer::new(dir.path(), "run", PLAIN).unwrap();
        let written = to.write(&version.snapshot(STAMP)).unwrap();
        let values: usize = version.bytes.values().map(Vec::len).sum();
        let most = values as u64 + STRUCTURES;
        assert!(written.bytes < most, "{} of {most}", written.bytes);
        assert!(!has_cells(&written.path));
        assert_restores(&Checkpoint::open(dir.path()).unwrap(), &version);

        let path = dir.path().join("export.vtkhdf");
        let bytes = tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &PLAIN).unwrap();
        let (more, points) = (bytes - written.bytes, ALONG.pow(3) as u64);
        let most = per_point * points + STRUCTURES;
        assert!(more < most, "{more} of {most}");
        assert!(has_cells(&path));
        assert_restores(&Checkpoint::open(&path).unwrap(), &version);
    }
}

#[test]
fn files_of_a_series_for_other_programs_show_grids() {
    for (kind, _) in grids() {
        let (dir, version) = (tempfile::tempdir().unwrap(), version(kind, DType::F32));
        let settings = Settings {
            options: PLAIN,
            purpose: Purpose::Export,
            ..Settings::new(dir.path())
        };
        let mut to = Checkpointer::open("run", settings).unwrap();
        let written = to.write(&version.snapshot(STAMP)).unwrap();
        assert!(has_cells(&written.path));
    }
}

#[test]
fn grid_without_a_field_that_vtk_shows_is_not_shown_and_the_reason_is_told() {
    let uniform = Kind::Uniform([ALONG; 3]);
    for kind in [grids().map(|(kind, _)| kind).to_vec(), vec![uniform]].concat() {
        let (dir, version) = (tempfile::tempdir().unwrap(), version(kind, DType::C64));
        for place in places(&version.table) {
            let why = place.shown.unwrap_err();
            let expected = match place.field.as_str() {
                "m0_d0" => "VTK has no complex numbers",
                _ => "mesh \"m0\": no field that VTK shows is on it",
            };
            assert_eq!(why, expected, "{}", place.field);
        }
        let path = dir.path().join("export.vtkhdf");
        tcasm_checkpoint::write(&path, &version.snapshot(STAMP), &PLAIN).unwrap();
        assert!(!has_cells(&path));
        assert_restores(&Checkpoint::open(&path).unwrap(), &version);
    }
}

#[test]
fn points_and_cells_of_a_grid_that_stays_are_stored_once_in_a_series() {
    for (kind, _) in grids() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.vtkhdf");
        let all = versions(3, |_| vec![Spec::new(kind.clone())]);
        let mut series = TimeSeries::open(&path, "test", SeriesOptions::default()).unwrap();
        for (n, version) in (1..).zip(&all) {
            series
                .append(&version.snapshot(stamp(n)), |_| true)
                .unwrap();
            let rows = dir.path().join(format!("run.steps/{n:08}.h5"));
            let rows = hdf5::File::open(rows).unwrap();
            assert_eq!(rows.group("tcasm/made").is_ok(), n == 1, "version {n}");
        }
        assert!(has_cells(&path));
    }
}
