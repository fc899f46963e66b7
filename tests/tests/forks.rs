//! Forked children inherit everything. They can neither use nor harm what belongs to their parent.

use tcasm_tests::child::poll_until;
use tcasm_tests::puppet::{Puppet, number};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const TRACKERS: [&str; 3] = ["uffd-async", "cow", "compare"];

fn pair(settings: &str) -> (TempDir, Puppet, Puppet) {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    producer.ok(&format!("create x {settings}"));
    producer.ok("publish 2");
    observer.ok("attach x");
    observer.ok("latest");
    (dir, producer, observer)
}

/// Returns the answer of a forked child of the process.
fn child_of(parent: &mut Puppet, command: &str) -> String {
    parent.ok(&format!("fork {command}"))
}

#[test]
fn forked_child_cannot_use_the_producer_and_its_end_does_no_harm() {
    for tracker in TRACKERS {
        let settings = format!("pages=700 versions=4 dense-every=4 one-in=2 tracker={tracker}");
        let (dir, mut producer, mut observer) = pair(&settings);
        for command in ["publish 1", "rollback 2", "view"] {
            let error = child_of(&mut producer, command);
            assert!(error.starts_with("error Forked"), "{command}: {error}");
        }
        // Children can close or drop their copies of the producer.
        assert_eq!(child_of(&mut producer, "close"), "ok ");
        assert_eq!(child_of(&mut producer, "drop"), "ok ");
        assert_eq!(observer.ok("status"), "Ok");
        observer.ok("check");
        // The parent's pages are tracked as before, and new observers find the region.
        producer.ok("view");
        assert_eq!(producer.number("publish 9", "published"), 9);
        assert_eq!(producer.number("stats", "errors"), 0, "{tracker}");
        let mut late = Puppet::start(PUPPET, dir.path());
        late.ok("attach x");
        assert_eq!(late.ok("latest"), "version=11");
        late.ok("view-at-base");
        observer.ok("check");
    }
}

#[test]
fn forked_child_that_declares_device_writes_changes_nothing() {
    for settings in [
        "",
        "capture=deferred",
        "cold=1 dense-every=8",
        "tracker=cow",
    ] {
        let (_dir, mut producer, mut observer) = pair(&format!("pages=1200 {settings}"));
        producer.ok("publish 6");
        for how in ["dirty", "bytes", "dma"] {
            assert_eq!(child_of(&mut producer, &format!("mark {how}")), "ok ");
            // The parent's pages are tracked as before.
            for _ in 0..3 {
                assert_eq!(producer.number("publish 1", "published"), 1);
                observer.ok("latest");
                observer.ok("view");
                observer.ok("release");
            }
        }
        assert_eq!(producer.number("stats", "errors"), 0, "{settings}");
    }
}

#[test]
fn a_forked_child_can_make_a_region_of_its_own() {
    let (_dir, mut producer, _observer) = pair("pages=64");
    let error = child_of(&mut producer, "create x");
    assert!(error.starts_with("error InUse"), "{error}");
    let answer = child_of(&mut producer, "create y pages=64");
    assert!(answer.starts_with("ok tracker="), "{answer}");
    producer.ok("publish 1");
}

#[test]
fn a_childs_own_memory_survives_the_end_of_the_producer_that_it_inherited() {
    for tracker in TRACKERS {
        let (_dir, mut producer, _observer) = pair(&format!("pages=64 tracker={tracker}"));
        // At the addresses of the parent's region the child can map memory of its own.
        let answer = child_of(&mut producer, "reuse-addresses");
        let reused = number(&answer, "reused").unwrap_or_else(|| panic!("{answer}"));
        assert!(reused > 0, "{answer}");
        assert_eq!(number(&answer, "lost"), Some(0), "{answer}");
        assert_eq!(producer.number("publish 1", "published"), 1);
    }
}

#[test]
fn a_child_that_outlives_a_killed_producer_keeps_neither_its_name_nor_its_observers() {
    let (dir, mut producer, mut observer) = pair("pages=64");
    let mut waiting = Puppet::start(PUPPET, dir.path());
    waiting.ok("attach x");
    waiting.ok("newer");
    waiting.child.send("newer");
    producer.ok("leave-child");
    producer.child.kill_alone();
    assert_eq!(observer.ok("status"), "ProducerLost");
    observer.ok("check");
    let error = poll_until("an answer", || {
        match waiting.child.receive(std::time::Duration::ZERO) {
            tcasm_tests::child::Received::Line(line) => Some(line),
            _ => None,
        }
    });
    assert!(error.starts_with("error ProducerLost"), "{error}");

    let mut late = Puppet::start(PUPPET, dir.path());
    let error = late.error("attach x");
    assert!(error.starts_with("Dead"), "{error}");
    let mut next = Puppet::start(PUPPET, dir.path());
    next.ok("create x pages=64");
    next.ok("publish 3");
    late.ok("attach x");
    assert_eq!(late.ok("latest"), "version=3");
}

#[test]
fn forked_child_cannot_use_the_observer_or_release_its_pins() {
    let (_dir, mut producer, mut observer) = pair("pages=64 versions=3 dense-every=1");
    observer.ok("view");
    for command in [
        "latest",
        "newer",
        "view",
        "check",
        "status",
        "available",
        "subscribe",
    ] {
        let error = child_of(&mut observer, command);
        assert!(error.starts_with("error Forked"), "{command}: {error}");
    }
    assert_eq!(child_of(&mut observer, "release"), "ok ");
    assert_eq!(child_of(&mut observer, "detach"), "ok ");
    // If the pin were gone, these versions would overwrite the pages.
    producer.ok("publish 10");
    observer.ok("check");
    assert_eq!(observer.ok("status"), "Ok");
    assert_eq!(observer.ok("latest"), "version=12");
    assert_eq!(producer.number("stats", "observers"), 1);
}

#[test]
fn forked_child_does_not_consume_its_parents_notifications() {
    let (_dir, mut producer, mut observer) = pair("pages=64");
    observer.ok("subscribe");
    producer.ok("publish 1");
    assert_eq!(observer.ok("poll 10000"), "readable");
    let error = child_of(&mut observer, "latest");
    assert!(error.starts_with("error Forked"), "{error}");
    assert_eq!(
        observer.ok("poll 0"),
        "readable",
        "the notification belongs to the parent"
    );
}
