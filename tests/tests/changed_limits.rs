//! Limits of a running producer or observer, lowered from outside as `prlimit` does.

use nix::sys::resource::Resource;
use std::path::Path;
use tcasm_producer::TrackerKind;
use tcasm_tests::limits::Limited;
use tcasm_tests::procfs;
use tcasm_tests::puppet::{Puppet, number};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Returns settings of regions that differ in the memory that they take and in the threads that
/// take it.
fn settings() -> Vec<String> {
    let inline = TrackerKind::ALL.map(|tracker| format!("tracker={tracker} capture=inline"));
    let deferred = "tracker=uffd-async capture=deferred".to_owned();
    let sharing = "tracker=uffd-async capture=inline cold=1 compact=1".to_owned();
    let mut all = inline.to_vec();
    let assembling = "tracker=uffd-async capture=auto assemble=1".to_owned();
    all.extend([deferred, sharing, assembling]);
    all.iter()
        .map(|kind| format!("pages=2048 memory=1000000000 dense-every=4 one-in=20 {kind}"))
        .collect()
}

/// A producer that has published, and an observer that holds a version.
fn pair(settings: &str) -> (TempDir, Puppet, Puppet) {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    producer.ok(&format!("create x {settings}"));
    observer.ok("attach x");
    producer.ok("publish 6");
    observer.ok("latest");
    observer.ok("view");
    (dir, producer, observer)
}

/// Publishes 8 times and checks every version. The producer must answer, even if it skips. Returns
/// the number of versions published.
fn publishes(producer: &mut Puppet, observer: &mut Puppet, what: &str) -> u64 {
    let mut published = 0;
    for _ in 0..8 {
        let answer = producer.ask("publish 1");
        let answer = answer.unwrap_or_else(|| panic!("{what}: the producer died"));
        published += number(&answer, "published").unwrap_or_else(|| panic!("{what}: {answer}"));
        observer.ok("latest");
        observer.ok("view");
        observer.ok("check");
        observer.ok("release");
    }
    published
}

/// Attaches an observer, which may be refused. The producer must survive both.
fn attaches(dir: &Path, producer: &mut Puppet, what: &str) {
    let mut late = Puppet::start(PUPPET, dir);
    let answer = late.ask("attach x").expect("an observer without limits");
    if answer.starts_with("ok") {
        late.ok("latest");
        late.ok("view");
    }
    assert!(producer.ask("stats").is_some(), "{what}: {answer}");
}

/// Checks that the producer goes on while a limit is `soft`, and that every publish works
/// afterwards. Returns the settings and the number of versions published under the limit.
fn producer_goes_on(resource: Resource, soft: impl Fn(i32) -> u64) -> Vec<(String, u64)> {
    let goes_on = |settings: String| {
        let what = format!("{resource:?} {settings}");
        let (dir, mut producer, mut observer) = pair(&settings);
        let pid = producer.child.pid();
        let limited = Limited::set(pid, resource, soft(pid));
        let published = publishes(&mut producer, &mut observer, &what);
        attaches(dir.path(), &mut producer, &what);
        drop(limited);
        assert_eq!(publishes(&mut producer, &mut observer, &what), 8, "{what}");
        producer.ok("view");
        (settings, published)
    };
    settings().into_iter().map(goes_on).collect()
}

/// Checks that no publish was skipped.
fn all_published(counts: &[(String, u64)]) {
    let less: Vec<_> = counts.iter().filter(|(_, n)| *n != 8).collect();
    assert!(less.is_empty(), "{less:?}");
}

#[test]
fn a_lower_limit_on_file_sizes_does_not_end_the_producer() {
    for soft in [0, 4096, 1 << 20] {
        producer_goes_on(Resource::RLIMIT_FSIZE, |_| soft);
    }
}

#[test]
fn a_limit_on_descriptors_below_those_that_are_open_changes_nothing() {
    all_published(&producer_goes_on(Resource::RLIMIT_NOFILE, |_| 0));
}

#[test]
fn limits_on_locked_memory_and_processes_change_nothing() {
    all_published(&producer_goes_on(Resource::RLIMIT_MEMLOCK, |_| 0));
    all_published(&producer_goes_on(Resource::RLIMIT_NPROC, |_| 0));
}

#[test]
fn a_limit_on_addresses_that_is_reached_does_not_end_the_producer() {
    let size = |pid| procfs::status(pid, "VmSize").unwrap();
    producer_goes_on(Resource::RLIMIT_AS, size);
}

#[test]
fn a_limit_on_private_memory_that_is_reached_does_not_end_the_producer() {
    let size = |pid| procfs::status(pid, "VmData").unwrap();
    producer_goes_on(Resource::RLIMIT_DATA, size);
}

#[test]
fn an_observer_at_its_limits_reads_right_bytes_or_reports_an_error() {
    let at = |resource, pid| match resource {
        Resource::RLIMIT_AS => procfs::status(pid, "VmSize").unwrap(),
        Resource::RLIMIT_DATA => procfs::status(pid, "VmData").unwrap(),
        _ => 0,
    };
    for resource in [
        Resource::RLIMIT_AS,
        Resource::RLIMIT_DATA,
        Resource::RLIMIT_NOFILE,
        Resource::RLIMIT_FSIZE,
        Resource::RLIMIT_MEMLOCK,
    ] {
        let (_dir, mut producer, mut observer) = pair(&settings()[0]);
        let pid = observer.child.pid();
        let limited = Limited::set(pid, resource, at(resource, pid));
        // Only commands for which the observer's own program does not need as much memory as a
        // field.
        for command in ["view", "view-at-base", "attach x", "status", "available"] {
            producer.ok("publish 1");
            let answer = observer.ask(command);
            let answer = answer.unwrap_or_else(|| panic!("{resource:?} {command}: it died"));
            let wrong = answer.contains("torn");
            assert!(!wrong, "{resource:?} {command}: {answer}");
        }
        drop(limited);
        observer.ok("latest");
        observer.ok("view");
        observer.ok("check");
    }
}
