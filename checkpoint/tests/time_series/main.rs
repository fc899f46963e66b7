//! Time series as they grow, read by real VTK, PyVista and h5py. All agree on every value of every
//! version.

mod appended;
#[path = "../common/mod.rs"]
mod common;
mod files;
mod model;
mod readers;

use common::{PLAIN, Version, field};
use std::path::Path;
use std::time::Duration;
use tcasm_checkpoint::{Appended, SeriesOptions, TimeSeries, WriteError};
use tcasm_core::field::{DType, FieldDesc};
use tcasm_core::format::stamp::Stamp;

fn stamp(n: u64) -> Stamp {
    Stamp {
        version: n,
        step: n * 10,
        time: n as f64 * 0.25,
    }
}

/// Returns version `n` of these fields. All values differ from other versions, except in fields
/// whose names begin with `still_`.
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

/// Opens a series at `path` with the options of the tests.
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

/// Returns the steps, and the bytes of `field` in each version, as HDF5 reads them.
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

/// Checks that `path` holds exactly these versions of the field `t`.
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
