//! Live memory that rests on planes: scenarios, each in a process of its own.

use std::time::Duration;
use tcasm_tests::child::{Child, Said};

/// Longer than any scenario may take.
const LIMIT: Duration = Duration::from_secs(120);

fn holds(name: &str) {
    let dir = tempfile::tempdir().expect("a folder for sockets");
    let child = Child::start(env!("CARGO_BIN_EXE_later"), &[name], dir.path(), &[]);
    assert_eq!(child.hear(LIMIT), Said::Line("holds".to_owned()), "{name}");
}

#[test]
fn memory_that_rests_exists_once_and_can_be_written_at_any_time() {
    holds("rest");
}

#[test]
fn what_devices_are_said_to_write_takes_its_memory_back_and_is_in_every_version() {
    holds("rest-marked");
}

#[test]
fn nothing_comes_to_rest_while_a_device_is_open_and_what_rests_stays() {
    holds("rest-devices");
}

#[test]
fn memory_that_cannot_come_to_rest_stays_as_it_is() {
    holds("rest-fails");
}

#[test]
fn a_store_that_is_dropped_before_it_is_published_leaves_its_page_at_rest() {
    holds("rest-dropped");
}

#[test]
fn copies_that_are_dropped_after_publish_are_in_the_next_version_and_stay() {
    holds("rest-copies-dropped");
}

#[test]
fn pages_that_are_written_in_every_version_do_not_rest_nor_fault() {
    holds("rest-hot");
}

#[test]
fn what_planes_get_for_neighbours_of_what_rests_is_held_and_can_be_trimmed() {
    holds("rest-in-holes");
}

#[test]
fn memory_that_is_written_densely_takes_it_back_and_rests_again_when_it_falls_silent() {
    holds("rest-again");
}
