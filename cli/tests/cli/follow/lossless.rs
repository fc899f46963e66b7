//! Tests of `export --follow --lossless`: no version is missed while the simulation waits.

use super::{has, in_dir, of, read, start};
use crate::common::{name, until};
use ndarray::Ix1;
use nix::sys::signal::Signal;
use std::time::Duration;
use tcasm_producer::{Field, Producer};

/// Creates a region that keeps only its newest version, of at most three.
fn tight(name: &str) -> (Producer, Field<f64, Ix1>) {
    let builder = Producer::builder(name).capacity(800);
    let mut p = builder.versions(3).history(0).create().unwrap();
    let t = p.field("t", [100]).add().unwrap();
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
    let (mut p, t) = tight(&name);
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
    let (mut p, t) = tight(&name);
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
