//! Tests of what is appended: which versions and fields, to which file.

use super::{has, in_dir, of, read, start};
use crate::common::{bad, line, name, publish, until};
use hdf5::types::VarLenUnicode;
use ndarray::Ix1;
use nix::sys::signal::Signal;
use std::fs;
use tcasm_checkpoint::Checkpoint;
use tcasm_producer::{Field, Producer};

#[test]
fn every_version_is_appended_until_the_simulation_ends() {
    let (_dir, file) = in_dir();
    let name = name("follow");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    for n in 1..=5 {
        publish(&mut p, t, n * 10);
        until("it is appended", || has(&file, n * 10));
        let steps: Vec<u64> = (1..=n).map(|n| n * 10).collect();
        assert_eq!(read(&file), of(&steps));
    }
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), 1, "{run:?}");
    let told = "the simulation has ended: 5 versions appended to ";
    assert!(lines[0].starts_with(told), "{run:?}");
}

#[test]
fn every_third_version_and_the_last_are_appended() {
    let (_dir, file) = in_dir();
    let name = name("follow-third");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &["--every", "3"]);
    (1..=10).for_each(|n| publish(&mut p, t, n * 10));
    drop(p);
    assert_eq!(run.end().code, 0);
    assert_eq!(read(&file), of(&[30, 60, 90, 100]));
}

#[test]
fn appended_versions_are_not_appended_again() {
    let (_dir, file) = in_dir();
    let name = name("follow-there");
    let (mut p, t) = line(&name, 100);
    for n in 1..=3 {
        publish(&mut p, t, n * 10);
    }
    for _ in 0..2 {
        let run = start(&name, &file, &["--every", "2"]);
        until("it is appended", || has(&file, 20));
        run.signal(Signal::SIGINT);
        assert_eq!(run.end().code, 0);
    }
    assert_eq!(read(&file), of(&[20]));
    let run = start(&name, &file, &[]);
    until("it is appended", || has(&file, 30));
    drop(p);
    assert_eq!(run.end().code, 0);
    assert_eq!(read(&file), of(&[20, 30]));
}

#[test]
fn new_field_begins_another_file() {
    let (dir, file) = in_dir();
    let name = name("follow-fields");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &[]);
    publish(&mut p, t, 10);
    publish(&mut p, t, 20);
    let more: Field<f64, _> = p.field("more", [10]).add().unwrap();
    p.view_mut(more).unwrap().fill(7.0);
    publish(&mut p, t, 30);
    drop(p);
    let run = run.end();
    assert_eq!(run.code, 0, "{run:?}");
    let second = dir.path().join("run_2.vtkhdf");
    assert!(
        run.out.contains("going on in") && run.out.contains("run_2.vtkhdf"),
        "{run:?}"
    );
    assert_eq!((read(&file), read(&second)), (of(&[10, 20]), of(&[30])));
}

#[test]
fn unchanged_fields_are_written_once() {
    let (dir, file) = in_dir();
    let name = name("follow-still");
    let (mut p, t) = line(&name, 100);
    let still: Field<f64, _> = p.field("still", [100]).add().unwrap();
    p.view_mut(still).unwrap().fill(7.0);
    let run = start(&name, &file, &[]);
    for n in 1..=3 {
        publish(&mut p, t, n * 10);
        until("it is appended", || has(&file, n * 10));
    }
    // The field changes in a later version.
    p.view_mut(still).unwrap().fill(8.0);
    publish(&mut p, t, 40);
    drop(p);
    assert_eq!(run.end().code, 0);
    let stored = |number: u64| {
        let rows = dir.path().join(format!("run.steps/{number:08}.h5"));
        hdf5::File::open(rows)
            .unwrap()
            .dataset("tcasm/fields/still")
            .is_ok()
    };
    assert_eq!([1, 2, 3, 4].map(stored), [true, false, false, true]);
    let series = hdf5::File::open(&file).unwrap();
    let still = series.dataset("VTKHDF/PointData/still").unwrap();
    let values: Vec<f64> = still.read_raw().unwrap();
    assert_eq!(
        values.chunks(100).map(|row| row[99]).collect::<Vec<_>>(),
        [7.0, 7.0, 7.0, 8.0]
    );
}

#[test]
fn keep_keeps_the_newest_versions() {
    let (_dir, file) = in_dir();
    let name = name("follow-keep");
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &file, &["--keep", "2"]);
    (1..=6).for_each(|n| publish(&mut p, t, n * 10));
    drop(p);
    assert_eq!(run.end().code, 0);
    assert_eq!(read(&file), of(&[50, 60]));
}

#[test]
fn series_has_one_file_per_version_and_a_list() {
    let (dir, _) = in_dir();
    let (list, name) = (dir.path().join("run.vtkhdf.series"), name("follow-list"));
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &list, &["--every", "2"]);
    (1..=5).for_each(|n| publish(&mut p, t, n * 10));
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let text = fs::read_to_string(&list).unwrap();
    let listed: serde_json::Value = serde_json::from_str(&text).unwrap();
    let files = listed["files"].as_array().unwrap();
    for (entry, step) in files.iter().zip([20.0_f64, 40.0, 50.0]) {
        assert_eq!(entry["time"], step / 100.0);
        let file = dir.path().join(entry["name"].as_str().unwrap());
        let mut bytes = vec![0; 800];
        Checkpoint::open(file)
            .unwrap()
            .read_bytes("t", &mut bytes)
            .unwrap();
        assert!(bytes.chunks(8).all(|v| v == step.to_le_bytes()));
    }
    assert_eq!(files.len(), 3);
    let other = crate::common::name("follow-other");
    let (_p, _) = line(&other, 100);
    let refused = bad(&["export", &other, list.to_str().unwrap(), "--follow"], 11);
    assert!(refused.contains(&name), "{refused}");
}

#[test]
fn only_versions_that_were_due_are_told_as_missing() {
    let (_dir, file) = in_dir();
    let name = name("follow-missing");
    let builder = Producer::builder(&name).capacity(800);
    let mut p = builder.versions(4).history(1).create().unwrap();
    let t: Field<f64, Ix1> = p.field("t", [100]).add().unwrap();
    let run = start(&name, &file, &["--every", "10"]);
    for n in 1..=10 {
        publish(&mut p, t, n * 10);
    }
    until("it is appended", || has(&file, 100));
    run.signal(Signal::SIGSTOP);
    let stat = format!("/proc/{}/stat", run.pid());
    until("it is stopped", || {
        fs::read_to_string(&stat).unwrap().contains(") T ")
    });
    for n in 11..=35 {
        publish(&mut p, t, n * 10);
    }
    run.signal(Signal::SIGCONT);
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert_eq!(read(&file), of(&[100, 340, 350]));
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(lines[0].ends_with(", 2 missing"), "{run:?}");
    let missing = "missing: 2 of the versions 11 to 33, between steps 100 and 340";
    assert_eq!(lines[1..], [missing]);
}

#[test]
fn openpmd_series_has_one_file_per_version() {
    let (dir, _) = in_dir();
    let (series, name) = (dir.path().join("run_%T.h5"), name("follow-openpmd"));
    let file = |step: u64| dir.path().join(format!("run_{step:08}.h5"));
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &series, &["--every", "2"]);
    (1..=5).for_each(|n| publish(&mut p, t, n * 10));
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(run.out.contains("3 versions appended to "), "{run:?}");
    for step in [20, 40, 50] {
        let file = hdf5::File::open(file(step)).unwrap();
        let text = |name: &str| {
            let text = file.attr(name).unwrap().read_scalar::<VarLenUnicode>();
            text.unwrap().to_string()
        };
        assert_eq!(text("iterationEncoding"), "fileBased");
        assert_eq!(text("iterationFormat"), "run_%08T.h5");
        let t = file.dataset(&format!("data/{step}/meshes/t")).unwrap();
        assert!(
            t.read_raw::<f64>()
                .unwrap()
                .iter()
                .all(|v| *v == step as f64)
        );
    }
    let names = crate::common::names_in(dir.path());
    assert_eq!(names.iter().filter(|name| name.ends_with(".h5")).count(), 3);
    assert!(
        !names
            .iter()
            .any(|name| name.contains('%') || name.ends_with(".series"))
    );
    // The next start continues the series, and keeps the newest files only.
    let (mut p, t) = line(&name, 100);
    let run = start(&name, &series, &["--keep", "2"]);
    publish(&mut p, t, 60);
    drop(p);
    assert_eq!(run.end().code, 0);
    assert!(file(50).exists() && file(60).exists() && !file(40).exists());
    let other = crate::common::name("follow-openpmd-other");
    let (_p, _) = line(&other, 100);
    let refused = bad(
        &["export", &other, series.to_str().unwrap(), "--follow"],
        11,
    );
    assert!(refused.contains(&name), "{refused}");
}
