//! Processes that run out of descriptors, mappings or addresses.

use tcasm_core::place;
use tcasm_core::sys::mem::page_size;
use tcasm_tests::child::poll_until;
use tcasm_tests::puppet::{Puppet, number};
use tempfile::TempDir;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Returns a region `x` with two versions, and a process to observe it.
fn pair(settings: &str) -> (TempDir, Puppet, Puppet) {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let observer = Puppet::start(PUPPET, dir.path());
    producer.ok(&format!("create x {settings}"));
    producer.ok("publish 2");
    (dir, producer, observer)
}

#[test]
fn attach_without_descriptors_is_an_error_and_leaks_none() {
    let (_dir, mut producer, mut observer) = pair("pages=64 versions=4");
    let mut refused = 0;
    for free in 0..40 {
        let open = observer.number(&format!("free-descriptors {free}"), "open");
        match observer.ask("attach x").unwrap() {
            answer if answer.starts_with("ok") => break,
            answer => assert!(
                answer.starts_with("error NoDescriptors"),
                "{free} free: {answer}"
            ),
        }
        // Another thread closes some of them.
        poll_until("no descriptor is left", || {
            (observer.number("descriptors", "open") == open).then_some(())
        });
        refused += 1;
    }
    // An observer needs a connection, an index, a lease and four planes at least. With enough
    // descriptors, attaching works.
    assert!((7..40).contains(&refused), "{refused}");
    assert_eq!(observer.ok("latest"), "version=2");
    poll_until("the observers that failed are gone", || {
        (producer.number("stats", "observers") == 1).then_some(())
    });
}

#[test]
fn producer_without_descriptors_publishes_and_accepts_observers_later() {
    let (dir, mut producer, mut observer) = pair("pages=64 versions=4");
    observer.ok("attach x");
    producer.ok("free-descriptors 0");
    let mut late = Puppet::start(PUPPET, dir.path());
    late.child.send("attach x");
    for version in 3..50 {
        assert_eq!(producer.number("publish 1", "published"), 1);
        assert_eq!(observer.ok("latest"), format!("version={version}"));
        observer.ok("release");
    }
    let answer = match late.child.receive(tcasm_tests::child::DEADLINE) {
        tcasm_tests::child::Received::Line(line) => line,
        said => panic!("{said:?}"),
    };
    assert!(
        answer.starts_with("error NoAnswer") || answer.starts_with("error Failed"),
        "{answer}"
    );
    producer.ok("free-descriptors 50");
    late.ok("attach x");
    assert_eq!(late.ok("latest"), "version=49");
}

/// Settings that put every second page into another plane, so that there are as many runs as pages.
const SCATTERED: &str = "pages=16384 versions=4 dense-every=50 one-in=2";

/// Returns a producer that has published 14 scattered versions, and an observer that may copy
/// `budget` bytes.
fn scattered(budget: u64) -> (TempDir, Puppet, Puppet) {
    let (dir, mut producer, mut observer) = pair(SCATTERED);
    observer.ok("attach x");
    observer.ok(&format!("copy-budget {budget}"));
    producer.ok("publish 12");
    (dir, producer, observer)
}

/// Copies for lack of mappings only, copies of a part of the region, and copies of all of it.
const BUDGETS: [u64; 3] = [0, 20 << 20, u64::MAX];

#[test]
fn an_observer_with_few_mappings_left_copies_and_reads_the_right_bytes() {
    for budget in BUDGETS {
        let (_dir, mut producer, mut observer) = scattered(budget);
        observer.ok("free-mappings 4000");
        for _ in 0..6 {
            producer.ok("publish 1");
            observer.ok("latest");
            observer.ok("view");
        }
        observer.ok("check");
    }
}

#[test]
fn copied_pages_are_renewed_when_their_frames_are_reused() {
    for budget in BUDGETS {
        let (_dir, mut producer, mut observer) = scattered(budget);
        observer.ok("free-mappings 4000");
        for round in 0..30 {
            // Nothing is held in between, so frames are reused, sometimes several versions later.
            producer.ok(&format!("publish {}", 1 + round % 3));
            observer.ok("latest");
            observer.ok("view");
            observer.ok("release");
        }
    }
}

#[test]
fn an_observer_without_mappings_gets_right_bytes_or_a_clear_error() {
    let free = [20, 200, 700, 1500].into_iter();
    for (free, budget) in free.flat_map(|free| BUDGETS.map(|budget| (free, budget))) {
        let (_dir, mut producer, mut observer) = scattered(budget);
        observer.ok(&format!("free-mappings {free}"));
        observer.ok("latest"); // needs no mapping
        match observer.ask("view").unwrap() {
            answer if answer.starts_with("ok") => {}
            answer => {
                let clear = answer.contains("no mappings left") && answer.contains("max_map_count");
                assert!(clear, "{free} mappings left: {answer}");
            }
        }
        observer.ok("check");
        producer.ok("publish 1");
        observer.ok("latest");
    }
}

#[test]
fn one_process_can_have_two_regions_and_observe_two_at_their_addresses() {
    let (dir, mut both, mut observer) = pair("pages=100");
    let y = both.number(
        "create y pages=300 tracker=cow dense-every=3 one-in=2",
        "base",
    );
    both.ok("publish 5");
    for (name, version) in [("x", 2), ("y", 5)] {
        observer.ok(&format!("attach {name}"));
        assert_eq!(observer.ok("latest"), format!("version={version}"));
        observer.ok("view-at-base");
    }
    let mut other = Puppet::start(PUPPET, dir.path());
    other.ok("attach y");
    other.ok("latest");
    assert_eq!(other.number("view-at-base", "address"), y);
    both.ok("drop");
    assert_eq!(other.ok("status"), "EndOfStream");
    both.ok("publish 1"); // the other region goes on
    other.ok("attach x");
    assert_eq!(other.ok("latest"), "version=3");
}

#[test]
fn region_whose_address_is_taken_uses_the_next_one_and_observers_follow() {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let bytes = 1 << 20;
    let wanted: Vec<u64> = place::addresses("x", bytes).take(3).collect();
    for address in &wanted[..2] {
        producer.ok(&format!("occupy {address} {bytes}"));
    }
    let pages = bytes as usize / 2 / page_size();
    assert_eq!(
        producer.number(&format!("create x pages={pages}"), "base"),
        wanted[2]
    );
    producer.ok("publish 2");
    let mut observer = Puppet::start(PUPPET, dir.path());
    observer.ok("attach x");
    observer.ok("latest");
    assert_eq!(observer.number("view-at-base", "address"), wanted[2]);
}

#[test]
fn view_at_a_taken_base_names_the_mapping_and_other_views_still_work() {
    let dir = TempDir::new().unwrap();
    let mut producer = Puppet::start(PUPPET, dir.path());
    let mut observer = Puppet::start(PUPPET, dir.path());
    let answer = producer.ok("create x pages=100");
    let base = number(&answer, "base").unwrap();
    producer.ok("publish 2");
    observer.ok(&format!("occupy {base} {}", page_size()));
    observer.ok("attach x");
    observer.ok("latest");
    let error = observer.error("view-at-base");
    assert!(
        error.starts_with("Base") && error.contains(&format!("{base:x}-")),
        "{error}"
    );
    assert_ne!(observer.number("view", "address"), base);
}
