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

/// Where a producer dies in its fourth version, and what it is to be for that.
#[derive(Clone, Debug)]
struct Death {
    point: &'static str,
    /// How often it has passed the point by then.
    passes: usize,
    settings: String,
}

/// A death at every step of publish that a producer with `tracker` takes.
fn deaths(tracker: TrackerKind) -> Vec<Death> {
    // All of version 4 is new, and of the versions before that are held, some pages each.
    let death = |(point, passes), size_and_mode: &str| Death {
        point,
        passes,
        settings: format!("tracker={tracker} dense-every=3 one-in=3 {size_and_mode}"),
    };
    let all = |points: &[(&'static str, usize)], settings: &str| -> Vec<Death> {
        points.iter().map(|p| death(*p, settings)).collect()
    };
    // Not every publish passes these.
    let elsewhere = [
        "protected",
        "early",
        "saving",
        "saved",
        "resting",
        "rested",
        "gathering",
        "gathered",
    ];
    let once_each = POINTS
        .iter()
        .filter(|p| !elsewhere.contains(p))
        .map(|p| (*p, BEFORE));
    // Little enough for one thread to copy it; then so much that several share the four chunks of versions 1 and 4.
    let mut deaths = all(&once_each.collect::<Vec<_>>(), "pages=1000 capture=now");
    let shared = [("saving", 4), ("saving", 7), ("saved", 4), ("saved", 7)];
    deaths.extend(all(&shared, "pages=2048 capture=now"));
    if tracker == TrackerKind::UffdAsync {
        // Version 1 is captured in publish, by several threads; versions 2 to 4 later.
        let first = [("harvested", 3), ("mapped", 3), ("protected", 2)];
        let then = [("saving", 12), ("saving", 14), ("saved", 12), ("saved", 15)];
        let last = [("visible", 3), ("notified", 3)];
        let later = [&first[..], &then, &last].concat();
        deaths.extend(all(&later, "pages=2048 capture=later"));
        // Of ten chunks, four come to rest in each version from the third on.
        let rest = [("resting", 2), ("rested", 2)];
        let settings = "pages=5120 capture=now calm=1";
        deaths.extend(rest.map(|(point, passes)| Death {
            point,
            passes,
            settings: format!("tracker={tracker} dense-every=100 one-in=1000000 {settings}"),
        }));
    }
    deaths
}

/// A producer that will die in its next publish, and an observer that holds all its versions.
fn doomed(dir: &TempDir, death: &Death) -> (Puppet, Puppet) {
    let fault = format!("{}:{}", death.point, death.passes + 1);
    let mut producer = Puppet::with_env(PUPPET, dir.path(), &[("TCASM_FAULT", &fault)]);
    let mut observer = Puppet::start(PUPPET, dir.path());
    producer.ok(&format!("create x {}", death.settings));
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
    // The notice is sent before "visible" is passed, and after the version is.
    index(point) >= index("visible")
}

fn dies(death: &Death) {
    let dir = TempDir::new().unwrap();
    let (mut producer, mut observer) = doomed(&dir, death);
    producer.child.tell("publish 1");
    let status = producer.child.wait();
    assert_eq!(status.signal(), Some(Signal::SIGKILL as i32), "{death:?}");

    assert_eq!(observer.ok("status"), "ProducerLost");
    observer.ok("check");
    let last = BEFORE + usize::from(survives(death.point));
    assert_eq!(
        observer.ok("available"),
        format!("{:?}", (1..=last).collect::<Vec<_>>()),
        "{death:?}"
    );
    assert_eq!(
        observer.ok("latest"),
        format!("version={last}"),
        "{death:?}"
    );
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
fn a_producer_that_dies_in_publish_or_after_it_leaves_whole_versions_and_an_observer_that_knows() {
    for tracker in TrackerKind::ALL {
        deaths(tracker).iter().for_each(dies);
    }
}

#[test]
fn the_name_of_a_dead_producer_is_free_at_once() {
    for death in deaths(TrackerKind::UffdAsync) {
        let dir = TempDir::new().unwrap();
        let (mut producer, mut left_over) = doomed(&dir, &death);
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
fn a_producer_that_dies_while_a_store_waits_leaves_whole_versions() {
    for pass in [1, 5] {
        let dir = TempDir::new().unwrap();
        let fault = format!("early:{pass}");
        let mut producer = Puppet::with_env(PUPPET, dir.path(), &[("TCASM_FAULT", &fault)]);
        let mut observer = Puppet::start(PUPPET, dir.path());
        producer.ok("create x pages=8192 capture=later hasty=");
        observer.ok("attach x");
        let mut seen = 0;
        while producer.ask("publish 1").is_some() {
            observer.ok("release");
            seen = observer.number("latest", "version");
            assert!(seen < 300, "no store comes early");
        }
        producer.child.wait();
        assert_eq!(observer.ok("status"), "ProducerLost");
        observer.ok("check");
        let last = observer.number("latest", "version");
        // It may have become visible a moment before.
        assert!(last == seen || last == seen + 1, "{last} after {seen}");
    }
}

#[test]
fn a_producer_that_dies_while_pages_are_put_together_leaves_whole_versions_and_its_name() {
    for fault in ["gathering:1", "gathering:40", "gathered:1", "gathered:3"] {
        let dir = TempDir::new().unwrap();
        let mut producer = Puppet::with_env(PUPPET, dir.path(), &[("TCASM_FAULT", fault)]);
        let mut observer = Puppet::start(PUPPET, dir.path());
        producer
            .ok("create x pages=4096 capture=now compact=1 calm=1 dense-every=10000 one-in=300");
        observer.ok("attach x");
        let mut seen = 0;
        while producer.ask("publish 1").is_some() {
            observer.ok("release");
            seen = observer.number("latest", "version");
            observer.ok("view");
            assert!(seen < 2000, "nothing is put together");
        }
        producer.child.wait();
        assert_eq!(observer.ok("status"), "ProducerLost");
        observer.ok("check");
        let last = observer.number("latest", "version");
        assert!(last == seen || last == seen + 1, "{last} after {seen}");
        observer.ok("view");
        observer.ok("check");
        let mut next = Puppet::start(PUPPET, dir.path());
        next.ok("create x pages=64");
        next.ok("publish 1");
        observer.ok("check");
    }
}

#[test]
fn a_waiting_observer_is_told_when_the_producer_dies() {
    let dir = TempDir::new().unwrap();
    let death = Death {
        point: "harvested",
        passes: BEFORE,
        settings: String::new(),
    };
    let (mut producer, mut observer) = doomed(&dir, &death);
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
    let death = Death {
        point: "half-copied",
        passes: BEFORE,
        settings: "pages=1000 versions=3 capture=now".to_owned(),
    };
    let (mut producer, mut observer) = doomed(&dir, &death);
    observer.ok("release");
    producer.ok("sabotage VisibleLast");
    producer.dies_of("publish 1");
    let error = observer.error("latest");
    assert!(error.starts_with("Torn"), "{error}");
}
