//! The producer is killed at each step of `publish`. Observers keep right versions and learn of it.

use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use tcasm_core::testing::fault::POINTS;
use tcasm_producer::TrackerKind;
use tcasm_tests::child::poll_until;
use tcasm_tests::puppet::Puppet;
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// The number of versions that are published before the producer is killed in the next one.
const BEFORE: usize = 3;

/// The point at which a producer is killed in its fourth version, and the settings for it.
#[derive(Clone, Debug)]
struct Death {
    point: &'static str,
    /// The number of times that the producer passes the point before it is killed there.
    passes: usize,
    settings: String,
}

/// Returns a death for every step of `publish` that a producer with `tracker` takes.
fn deaths(tracker: TrackerKind) -> Vec<Death> {
    // Version 4 changes all pages. Of each version before, some pages are held.
    let death = |(point, passes), size_and_mode: &str| Death {
        point,
        passes,
        settings: format!("tracker={tracker} dense-every=3 one-in=3 {size_and_mode}"),
    };
    let all = |points: &[(&'static str, usize)], settings: &str| -> Vec<Death> {
        points.iter().map(|p| death(*p, settings)).collect()
    };
    // Not every publish passes these points.
    let elsewhere = [
        "protected",
        "early",
        "saving",
        "saved",
        "sharing",
        "shared",
        "gathering",
        "gathered",
    ];
    let once_each = POINTS
        .iter()
        .filter(|p| !elsewhere.contains(p))
        .map(|p| (*p, BEFORE));
    // First so little that one thread copies it. Then so much that several threads share the four
    // chunks of versions 1 and 4.
    let mut deaths = all(&once_each.collect::<Vec<_>>(), "pages=1000 capture=inline");
    let shared = [("saving", 4), ("saving", 7), ("saved", 4), ("saved", 7)];
    deaths.extend(all(&shared, "pages=2048 capture=inline"));
    if tracker == TrackerKind::UffdAsync {
        // Version 1 is captured inside `publish`, by several threads. Versions 2 to 4 are deferred.
        let first = [("harvested", 3), ("mapped", 3), ("protected", 2)];
        let then = [("saving", 12), ("saving", 14), ("saved", 12), ("saved", 15)];
        let last = [("visible", 3), ("notified", 3)];
        let later = [&first[..], &then, &last].concat();
        deaths.extend(all(&later, "pages=2048 capture=deferred"));
        // Version 1 is captured inside `publish`, and the chunks of versions 2 to 4 are assembled.
        let settings = "dense-every=100 one-in=3 pages=2048 capture=auto assemble=1";
        deaths.extend(then.map(|(point, passes)| Death {
            point,
            passes,
            settings: format!("tracker={tracker} {settings}"),
        }));
        // Four of ten chunks become shared with a plane in each version from the third on. With
        // huge pages they would wait for the keeper, which gathers the chunks of the plane first.
        let rest = [("sharing", 2), ("shared", 2)];
        let settings = "pages=5120 capture=inline cold=1 huge=0";
        deaths.extend(rest.map(|(point, passes)| Death {
            point,
            passes,
            settings: format!("tracker={tracker} dense-every=100 one-in=1000000 {settings}"),
        }));
    }
    deaths
}

/// Returns a producer that will die in its next publish, and an observer that holds all its
/// versions.
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

/// Returns true if the version exists although the producer died at `point`.
fn survives(point: &str) -> bool {
    let index = |name| POINTS.iter().position(|p| *p == name).unwrap();
    // The version becomes visible first, then observers are notified, and then the point "visible"
    // is passed.
    index(point) >= index("visible")
}

fn dies(death: &Death) {
    let dir = TempDir::new().unwrap();
    let (mut producer, mut observer) = doomed(&dir, death);
    producer.child.send("publish 1");
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
        "an event loop must see the end"
    );
}

#[test]
fn producer_killed_in_publish_or_after_it_leaves_whole_versions_and_observers_learn_of_it() {
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
        // An observer of the dead producer keeps what it has and does not move to the new one.
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
        producer.ok("create x pages=8192 capture=deferred hasty=");
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
        // The version may have become visible just before the kill.
        assert!(last == seen || last == seen + 1, "{last} after {seen}");
    }
}

#[test]
fn producer_killed_during_compaction_leaves_whole_versions_and_frees_its_name() {
    for fault in ["gathering:1", "gathering:40", "gathered:1", "gathered:3"] {
        let dir = TempDir::new().unwrap();
        let mut producer = Puppet::with_env(PUPPET, dir.path(), &[("TCASM_FAULT", fault)]);
        let mut observer = Puppet::start(PUPPET, dir.path());
        producer
            .ok("create x pages=4096 capture=inline compact=1 cold=1 dense-every=10000 one-in=300");
        observer.ok("attach x");
        let mut seen = 0;
        while producer.ask("publish 1").is_some() {
            observer.ok("release");
            seen = observer.number("latest", "version");
            observer.ok("view");
            assert!(seen < 2000, "nothing is compacted");
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
fn waiting_observer_gets_an_error_when_the_producer_dies() {
    let dir = TempDir::new().unwrap();
    let death = Death {
        point: "harvested",
        passes: BEFORE,
        settings: String::new(),
    };
    let (mut producer, mut observer) = doomed(&dir, &death);
    observer.child.send("newer");
    producer.dies_of("publish 1");
    let error = poll_until("an answer", || {
        match observer.child.receive(std::time::Duration::ZERO) {
            tcasm_tests::child::Received::Line(line) => Some(line),
            _ => None,
        }
    });
    assert!(error.starts_with("error ProducerLost"), "{error}");
}

#[test]
fn end_of_stream_is_not_reported_as_a_lost_producer() {
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
fn without_the_guard_visible_last_a_killed_producer_leaves_a_partial_version() {
    let dir = TempDir::new().unwrap();
    let death = Death {
        point: "half-copied",
        passes: BEFORE,
        settings: "pages=1000 versions=3 capture=inline".to_owned(),
    };
    let (mut producer, mut observer) = doomed(&dir, &death);
    observer.ok("release");
    producer.ok("sabotage VisibleLast");
    producer.dies_of("publish 1");
    let error = observer.error("latest");
    assert!(error.starts_with("Torn"), "{error}");
}
