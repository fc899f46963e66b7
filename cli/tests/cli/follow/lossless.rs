//! Tests of `export --follow --lossless`: no version is missed while the simulation waits.

use super::{fill_with_noise, has, in_dir, of, read, start, start_limited};
use crate::common::{self, Background, line, name, until};
use ndarray::Ix1;
use nix::sys::resource::Resource;
use nix::sys::signal::Signal;
use std::path::Path;
use std::time::Duration;
use tcasm_producer::{Field, Producer};
use tcasm_tests::limits::Limited;

/// The number of values of which noise takes more than a limited run can write.
const LARGE: usize = 1 << 16;

/// Creates a region that keeps only its newest version, of at most three, with `n` numbers.
fn tight(name: &str, n: usize) -> (Producer, Field<f64, Ix1>) {
    let builder = Producer::builder(name).capacity(n * 8);
    let mut p = builder.versions(3).history(0).create().unwrap();
    let t = p.field("t", [n]).add().unwrap();
    (p, t)
}

/// Publishes a version of step `step` within `timeout`. Returns its number.
fn publish(p: &mut Producer, t: Field<f64, Ix1>, step: u64, timeout: Duration) -> Option<u64> {
    p.view_mut(t).unwrap().fill(step as f64);
    p.publish_wait(step, step as f64, timeout)
        .unwrap()
        .version()
}

#[test]
fn every_step_of_a_simulation_that_waits_is_appended() {
    let (_dir, file) = in_dir();
    let name = name("follow-lossless");
    let (mut p, t) = tight(&name, 100);
    let run = start(&name, &file, &["--lossless"]);
    let minute = Duration::from_secs(60);
    publish(&mut p, t, 1, minute);
    until("it is appended", || has(&file, 1));
    for step in 2..=100 {
        assert_eq!(publish(&mut p, t, step, minute), Some(step));
    }
    drop(p);
    let run = run.end();
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert_eq!(read(&file), of(&(1..=100).collect::<Vec<_>>()));
    assert_eq!(run.out.lines().count(), 1, "nothing is missing: {run:?}");
}

#[test]
fn stopped_command_makes_the_simulation_wait_no_longer_than_its_timeout() {
    let (_dir, file) = in_dir();
    let name = name("follow-lossless-stopped");
    let (mut p, t) = tight(&name, 100);
    let run = start(&name, &file, &["--lossless"]);
    publish(&mut p, t, 1, Duration::from_secs(60));
    until("it is appended", || has(&file, 1));
    run.signal(Signal::SIGSTOP);
    let stat = format!("/proc/{}/stat", run.pid());
    until("it is stopped", || {
        std::fs::read_to_string(&stat).unwrap().contains(") T ")
    });
    let short = Duration::from_millis(20);
    let published: Vec<u64> = (2..=10)
        .filter(|step| publish(&mut p, t, *step, short).is_some())
        .collect();
    assert!((2..=3).contains(&published.len()), "{published:?}");
    run.signal(Signal::SIGCONT);
    drop(p);
    let run = run.end();
    assert_eq!(run.code, 0, "{run:?}");
    let steps = [&[1], &published[..]].concat();
    assert_eq!(read(&file), of(&steps));
}

/// Starts a run that appends the version of step 1 and finds no room for that of step 2. Returns it
/// when it says so, and the values of that version.
fn start_without_room(
    name: &str,
    file: &Path,
    (p, t): (&mut Producer, Field<f64, Ix1>),
) -> (Background, Vec<f64>) {
    let minute = Duration::from_secs(60);
    let mut run = start_limited(name, file, &["--lossless"]);
    publish(p, t, 1, minute);
    until("it is appended", || has(file, 1));
    let noise = fill_with_noise(p, t);
    let receipt = p.publish_wait(2, 2.0, minute).unwrap();
    assert_eq!(receipt.version(), Some(2));
    let said = run.read_error_line();
    assert!(
        said.contains("step 2") && said.contains("no room") && said.contains("trying again"),
        "{said}"
    );
    (run, noise)
}

#[test]
fn version_that_finds_no_room_is_appended_when_there_is_room() {
    let (_dir, file) = in_dir();
    let name = name("follow-lossless-room");
    let (mut p, t) = tight(&name, LARGE);
    let (run, noise) = start_without_room(&name, &file, (&mut p, t));
    let minute = Duration::from_secs(60);
    assert_eq!(publish(&mut p, t, 3, minute), Some(3));
    assert_eq!(publish(&mut p, t, 4, minute), Some(4));
    let short = Duration::from_millis(20);
    assert_eq!(publish(&mut p, t, 5, short), None, "version 2 is held");
    let _room = Limited::set(run.pid() as i32, Resource::RLIMIT_FSIZE, u64::MAX);
    assert_eq!(publish(&mut p, t, 5, minute), Some(5));
    drop(p);
    let run = run.end();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("5 versions appended"), "{run:?}");
    assert!(!run.out.contains("failed"), "{run:?}");
    let series = hdf5::File::open(&file).unwrap();
    let steps: Vec<u64> = series.dataset("tcasm/step").unwrap().read_raw().unwrap();
    assert_eq!(steps, [1, 2, 3, 4, 5]);
    let values = series.dataset("VTKHDF/PointData/t").unwrap();
    let values: Vec<f64> = values.read_raw().unwrap();
    assert!(values[LARGE..2 * LARGE] == noise);
}

#[test]
fn signal_ends_the_attempts_and_the_status_tells_it() {
    let (_dir, file) = in_dir();
    let name = name("follow-lossless-signal");
    let (mut p, t) = tight(&name, LARGE);
    let (mut run, _) = start_without_room(&name, &file, (&mut p, t));
    // There is room for this version.
    publish(&mut p, t, 3, Duration::from_secs(60));
    run.signal(Signal::SIGTERM);
    until("it ends", || run.child().try_wait().unwrap().is_some());
    let run = run.end();
    assert_eq!(run.code, 9, "{run:?}");
    assert!(run.err.contains("could not be appended"), "{run:?}");
    assert_eq!(read(&file), of(&[1]), "no version follows the one missing");
}

#[test]
fn all_versions_of_the_next_run_of_the_simulation_are_appended() {
    let (_dir, file) = in_dir();
    let name = name("follow-lossless-again");
    for first in [1, 11] {
        // The region can have as many versions as an observer has pins.
        let (mut p, t) = line(&name, 100);
        (first..first + 3).for_each(|step| common::publish(&mut p, t, step));
        let run = start(&name, &file, &["--lossless"]);
        until("it is appended", || has(&file, first + 2));
        drop(p);
        let run = run.end();
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    }
    assert_eq!(read(&file), of(&[1, 2, 3, 11, 12, 13]));
}
