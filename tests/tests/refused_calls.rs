//! Seccomp filters that are installed while a simulation publishes, as by a job that drops
//! privileges after its start. `publish` falls back or returns an error, and no version is wrong.

use tcasm_producer::TrackerKind;
use tcasm_tests::filter::REFUSALS;
use tcasm_tests::puppet::{Puppet, number};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Publishes with the refusal. An observer without it checks every version. Returns how many of six
/// versions were published.
fn publish_refused(refusal: &str, kind: &str) -> u64 {
    let what = format!("{refusal} {kind}");
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    producer.ok(&format!(
        "create x pages=2048 memory=1000000000 dense-every=4 one-in=20 {kind}"
    ));
    observer.ok("attach x");
    producer.ok("publish 6");
    observer.ok("latest");
    observer.ok("view");
    producer.ok(&format!("refuse {refusal}"));
    let mut published = 0;
    for _ in 0..6 {
        let answer = producer.ask("publish 1");
        let answer = answer.unwrap_or_else(|| panic!("{what}: the producer died"));
        let now = number(&answer, "published").unwrap_or(0);
        if now == 1 {
            let live = producer.ask("view").unwrap_or_default();
            assert!(live.starts_with("ok"), "{what}: live memory: {live}");
        }
        published += now;
        observer.ok("latest");
        observer.ok("view");
        observer.ok("check");
        observer.ok("release");
    }
    published
}

/// Runs every refusal but those in `without`.
fn play(kind: &str, without: &[&str]) {
    let names = REFUSALS.iter().map(|(name, _)| *name);
    for refusal in names.filter(|name| !without.contains(name)) {
        let published = publish_refused(refusal, kind);
        println!("{refusal}: {published} of 6 versions, {kind}");
    }
}

/// The refusal under which no thread can wait or be woken, so that no lock works.
const NO_LOCKS: [&str; 1] = ["futex"];

#[test]
fn no_version_is_wrong_when_a_system_call_is_refused() {
    for tracker in TrackerKind::ALL {
        play(&format!("tracker={tracker} capture=inline"), &NO_LOCKS);
    }
}

#[test]
fn no_version_is_wrong_when_a_system_call_is_refused_to_deferred_capture() {
    // Without futex-wake no copier can be woken after `publish`. Without futex no lock works.
    let without = ["futex", "futex-wake"];
    play("tracker=uffd-async capture=deferred", &without);
}

#[test]
fn no_version_is_wrong_when_a_system_call_is_refused_to_assembly() {
    let without = ["futex", "futex-wake"];
    play("tracker=uffd-async capture=auto assemble=1", &without);
}

#[test]
fn no_version_is_wrong_when_a_system_call_is_refused_during_sharing_and_compaction() {
    play(
        "tracker=uffd-async capture=inline cold=1 compact=1",
        &NO_LOCKS,
    );
}

#[test]
fn without_comparing_after_a_refused_scan_versions_lack_changes() {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    producer.ok("create x tracker=uffd-async capture=inline pages=512 dense-every=100 one-in=2");
    observer.ok("attach x");
    producer.ok("publish 2");
    observer.ok("latest");
    producer.ok("sabotage ErrorMeansAll");
    producer.ok("refuse pagemap-scan");
    producer.ok("publish 3");
    let error = observer.error("latest");
    assert!(error.starts_with("Torn"), "{error}");
}
