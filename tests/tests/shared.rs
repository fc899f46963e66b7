//! Live memory that is shared with planes: scenarios, each in a process of its own.

use std::time::Duration;
use tcasm_tests::child::{Child, HUGE_PAGES, Received};

/// A time that is longer than any scenario may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Checks that a scenario holds with and without huge pages.
fn holds(name: &str) {
    for huge in HUGE_PAGES {
        let dir = tempfile::tempdir().expect("a folder for sockets");
        let program = env!("CARGO_BIN_EXE_deferred");
        let child = Child::start(program, &[name], dir.path(), &[huge]);
        let expected = Received::Line("holds".to_owned());
        assert_eq!(child.receive(LIMIT), expected, "{name}, {huge:?}");
    }
}

#[test]
fn shared_memory_exists_once_and_can_be_written_at_any_time() {
    holds("share");
}

#[test]
fn memory_declared_for_devices_is_not_shared_and_is_in_every_version() {
    holds("share-marked");
}

#[test]
fn no_memory_becomes_shared_while_a_device_is_open_and_shared_memory_stays() {
    holds("share-devices");
}

#[test]
fn registered_memory_stays_in_place_and_versions_have_what_the_device_writes() {
    holds("share-registered");
}

#[test]
fn memory_that_cannot_be_shared_stays_as_it_is() {
    holds("share-fails");
}

#[test]
fn store_that_is_dropped_before_publish_leaves_its_page_shared() {
    holds("share-dropped");
}

#[test]
fn copies_that_are_dropped_after_publish_are_seen_by_the_next_version() {
    holds("share-copies-dropped");
}

#[test]
fn pages_that_are_written_in_every_version_are_not_shared_and_do_not_fault() {
    holds("share-hot");
}

#[test]
fn chunks_in_which_the_same_few_pages_are_written_in_every_version_are_shared() {
    holds("share-recurring");
}

#[test]
fn memory_of_unused_frames_counts_as_held_and_can_be_trimmed() {
    holds("share-in-holes");
}

#[test]
fn densely_written_memory_stops_being_shared_until_it_is_cold_again() {
    holds("share-again");
}
