//! Appending to a series: what is stored, replaced and kept.

use crate::common::{field, names_in};
use crate::{append, assert_holds, open, options, read, simple, stamp, version};
use std::time::Duration;
use tcasm_checkpoint::{SeriesOptions, TimeSeries, WriteError};
use tcasm_core::field::DType;

#[test]
fn unchanged_field_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let mut series = open(&path).unwrap();
    for n in 1..=3 {
        // Version 2 is unchanged by its bytes, version 3 because the caller says so.
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
    // A version in which nothing changes needs no file.
    let before = names_in(&dir.path().join("run.steps"));
    let same = version(&simple(), 3);
    series.append(&same.snapshot(stamp(4)), |_| true).unwrap();
    assert_eq!(names_in(&dir.path().join("run.steps")), before);
    assert_eq!(read(&path, "t").1[3], same.bytes["t"]);
    assert_eq!(read(&path, "still_s").1[0], same.bytes["still_s"]);
}

#[test]
fn next_start_continues_the_series() {
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
fn later_steps_are_replaced_if_requested() {
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
fn newest_versions_are_kept_with_the_rows_they_refer_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.vtkhdf");
    let keep = SeriesOptions {
        keep: 3,
        ..options()
    };
    let mut series = TimeSeries::open(&path, "test", keep).unwrap();
    (1..=9).for_each(|n| drop(append(&mut series, &simple(), n).unwrap()));
    assert_holds(&path, &simple(), &[7, 8, 9]);
    // File 1 has the field that never changes. File 6 is left for readers that have opened the
    // series before.
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
    // With a grace period all files are left until the writer ends.
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
fn changed_fields_begin_a_new_file() {
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
