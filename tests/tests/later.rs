//! Captures that go on after `publish` has returned: what comes in between, and what fails in between.

use std::time::Duration;
use tcasm_tests::child::{Child, Said};

/// Longer than any scenario may take; what hangs reaches it.
const LIMIT: Duration = Duration::from_secs(120);

/// What a scenario says, with variables in its environment.
fn play(name: &str, env: &[(&str, &str)]) -> Said {
    let dir = tempfile::tempdir().expect("a folder for sockets");
    let child = Child::start(env!("CARGO_BIN_EXE_later"), &[name], dir.path(), env);
    child.hear(LIMIT)
}

fn holds(name: &str, env: &[(&str, &str)]) {
    assert_eq!(
        play(name, env),
        Said::Line("holds".to_owned()),
        "{name}, {env:?}"
    );
}

macro_rules! scenarios {
    ($($test:ident $name:literal;)*) => {$(
        #[test]
        fn $test() {
            holds($name, &[]);
        }
    )*};
}

scenarios! {
    writes_of_the_kernel_wait_and_succeed_and_the_version_has_the_old_bytes "kernel-writes";
    forked_children_that_end_or_stay_change_nothing "forks";
    stores_by_all_threads_right_after_publish_are_not_in_the_version "storm";
    the_same_goes_without_huge_pages "storm-without-huge-pages";
    first_stores_to_pages_that_were_never_written_wait_as_well "beginnings";
    a_signal_handler_may_store_at_any_time_but_during_publish "signals";
    buffers_that_end_in_the_middle_of_chunks_can_be_swapped "swaps";
    a_producer_that_ends_completes_its_last_version_and_leaves_no_thread "end";
    what_devices_write_is_captured_inside_publish_from_the_moment_it_is_said "devices";
    a_field_that_falls_silent_is_captured_inside_publish_again_and_has_not_changed "silence";
    pages_that_are_expected_to_be_written_cost_no_fault "prediction";
    publishing_while_a_capture_goes_on_skips_or_waits_and_loses_nothing "hurry";
    when_memory_runs_out_half_way_the_next_version_has_it_all "memory";
}

#[test]
fn a_copier_that_panics_costs_one_version_and_hangs_nobody() {
    // Version 1 passes the points 16 times inside publish, before there is anything to wait for.
    for fault in ["panic@saving:19", "panic@saved:17", "panic@saved:32"] {
        holds("panic", &[("TCASM_FAULT", fault)]);
        holds("panic-and-stores", &[("TCASM_FAULT", fault)]);
    }
}

#[test]
fn a_fault_thread_that_dies_while_stores_wait_costs_one_version_and_hangs_nobody() {
    for fault in ["panic@early:1", "panic@early:3"] {
        holds("panic-and-stores", &[("TCASM_FAULT", fault)]);
    }
}

#[test]
fn without_saving_first_a_version_has_bytes_that_were_stored_after_it() {
    let guard = (tcasm_core::sabotage::Guard::SaveFirst as u8).to_string();
    let said = play("storm", &[("TCASM_SABOTAGE", &guard)]);
    let torn = matches!(&said, Said::Line(l) if l.starts_with("violated: version"));
    assert!(torn, "{said:?}");
}
