//! The producer dies at each step of publish: what observers have stays right, and they are told.

use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use tcasm_core::fault::POINTS;
use tcasm_producer::TrackerKind;
use tcasm_tests::child::poll_until;
use tcasm_tests::puppet::Puppet;
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Versions published before the one that is not survived.
const BEFORE: usize = 3;

/// A producer that will die at `point` of its next publish, and an observer that holds all its
/// versions.
fn doomed(dir: &TempDir, point: &str, settings: &str) -> (Puppet, Puppet) {
    let fault = format!("{point}:{}", BEFORE + 1);
    let mut producer = Puppet::with_env(PUPPET, dir.path(), &[("TCASM_FAULT", &fault)]);
    let mut observer = Puppet::start(PUPPET, dir.path());
    producer.ok(&format!("create x pages=2048 {settings}"));
    observer.ok("attach x");
    for version in 1..=BEFORE {
        producer.ok("publish 1");
        assert_eq!(observer.ok("latest"), format!("version={version}"));
    }
    observer.ok("view");
    (producer, observer)
}

/// Whether a version is there although the producer died at `point`: from "visible" on.
fn survives(point: &str) -> bool {
    let index = |name| POINTS.iter().position(|p| *p == name).unwrap();
    index(point) >= index("visible")
}

fn dies_at(point: &str, tracker: TrackerKind) {
    let dir = TempDir::new().unwrap();
    // All of version 4 is new, and of the versions before that are held, some pages each.
    let settings = format!("tracker={tracker} dense-every=3 one-in=3");
    let (mut producer, mut observer) = doomed(&dir, point, &settings);
    producer.child.tell("publish 1");
    let status = producer.child.wait();
    assert_eq!(status.signal(), Some(Signal::SIGKILL as i32), "{point}");

    assert_eq!(observer.ok("status"), "ProducerLost");
    observer.ok("check");
    let last = BEFORE + usize::from(survives(point));
    assert_eq!(
        observer.ok("available"),
        format!("{:?}", (1..=last).collect::<Vec<_>>())
    );
    assert_eq!(observer.ok("latest"), format!("version={last}"), "{point}");
    observer.ok("view");
    let error = observer.error("newer");
    assert!(error.starts_with("ProducerLost"), "{error}");
    assert_eq!(
        observer.ok("poll 0"),
        "readable",
        "an event loop has to see the end"
    );
}

#[test]
fn a_producer_that_dies_in_publish_leaves_whole_versions_and_an_observer_that_knows() {
    for tracker in TrackerKind::ALL {
        POINTS.iter().for_each(|point| dies_at(point, tracker));
    }
}

#[test]
fn the_name_of_a_dead_producer_is_free_at_once() {
    for point in POINTS {
        let dir = TempDir::new().unwrap();
        let (mut producer, mut left_over) = doomed(&dir, point, "");
        producer.dies_of("publish 1");
        let mut next = Puppet::start(PUPPET, dir.path());
        let mut observer = Puppet::start(PUPPET, dir.path());
        let error = observer.error("attach x");
        assert!(error.starts_with("Dead"), "{error}");
        next.ok("create x pages=2048");
        next.ok("publish 1");
        observer.ok("attach x");
        assert_eq!(observer.ok("newer"), "version=1");
        observer.ok("view-at-base");
        // Who was attached to the old one keeps what it has, and is not moved to the new one.
        assert_eq!(left_over.ok("status"), "ProducerLost");
        left_over.ok("check");
    }
}

#[test]
fn a_waiting_observer_is_told_when_the_producer_dies() {
    let dir = TempDir::new().unwrap();
    let (mut producer, mut observer) = doomed(&dir, "harvested", "");
    observer.child.tell("newer");
    producer.dies_of("publish 1");
    let error = poll_until("an answer", || {
        match observer.child.hear(std::time::Duration::ZERO) {
            tcasm_tests::child::Said::Line(line) => Some(line),
            _ => None,
        }
    });
    assert!(error.starts_with("error ProducerLost"), "{error}");
}

#[test]
fn the_end_of_the_stream_is_not_taken_for_a_death() {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    producer.ok("create x pages=16");
    observer.ok("attach x");
    assert_eq!(observer.ok("status"), "NotReady");
    producer.ok("publish 2");
    assert_eq!(observer.ok("status"), "Ok");
    producer.ok("close");
    producer.child.kill();
    assert_eq!(observer.ok("status"), "EndOfStream");
    assert_eq!(observer.ok("newer"), "version=2");
    assert!(observer.error("newer").starts_with("EndOfStream"));
}

#[test]
fn without_the_order_of_publish_a_death_shows_a_version_that_is_not_whole() {
    let dir = TempDir::new().unwrap();
    let (mut producer, mut observer) = doomed(&dir, "half-copied", "versions=3");
    observer.ok("release");
    producer.ok("sabotage VisibleLast");
    producer.dies_of("publish 1");
    let error = observer.error("latest");
    assert!(error.starts_with("Torn"), "{error}");
}
