//! Deferred captures: stores, signals, forks and failures between `publish` and the end of the
//! capture.

use std::time::Duration;
use tcasm_tests::child::{Child, HUGE_PAGES, Received};

/// A time that is longer than any scenario may take. Only one that hangs reaches it.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a scenario with these environment variables and returns what it prints.
fn play(name: &str, env: &[(&str, &str)]) -> Received {
    let dir = tempfile::tempdir().expect("a folder for sockets");
    let child = Child::start(env!("CARGO_BIN_EXE_deferred"), &[name], dir.path(), env);
    child.receive(LIMIT)
}

/// Checks that a scenario holds with these environment variables, with and without huge pages.
fn holds(name: &str, env: &[(&str, &str)]) {
    for huge in HUGE_PAGES {
        let env = [env, &[huge]].concat();
        let expected = Received::Line("holds".to_owned());
        assert_eq!(play(name, &env), expected, "{name}, {env:?}");
    }
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
    kernel_writes_succeed_and_are_not_in_the_version "kernel-writes";
    forked_children_that_end_or_stay_change_nothing "forks";
    stores_by_all_threads_right_after_publish_are_not_in_the_version "storm";
    stores_right_after_publish_are_not_in_the_version_without_huge_pages "storm-without-huge-pages";
    first_stores_to_untouched_pages_are_not_in_the_version "beginnings";
    a_signal_handler_may_store_at_any_time_but_during_publish "signals";
    buffers_that_end_in_the_middle_of_chunks_can_be_swapped "swaps";
    a_producer_that_ends_completes_its_last_version_and_leaves_no_thread "end";
    memory_declared_for_devices_is_captured_inside_publish "devices";
    field_that_is_no_longer_written_is_captured_inside_publish_again "silence";
    stores_to_expected_pages_cause_no_fault "prediction";
    publish_during_a_capture_skips_or_waits_and_loses_no_change "hurry";
    appointed_steps_wait_for_the_capture_before_them "appointed";
    when_memory_runs_out_during_capture_the_next_version_has_all_changes "memory";
    stores_of_an_ordinary_user_right_after_publish_are_not_in_the_version "ordinary-storm";
    captures_of_an_ordinary_user_are_deferred_only_with_the_promise "ordinary-modes";
    system_call_that_breaks_the_promise_fails_and_changes_nothing "broken-promise";
    where_system_calls_can_wait_a_broken_promise_has_no_effect "needless-promise";
    wait_captured_ends_although_no_copier_runs "wait-captured";
}

#[test]
fn panic_of_a_copier_costs_one_version_and_blocks_nothing() {
    // Version 1 passes these points 16 times inside `publish`, before any store can wait.
    for fault in ["panic@saving:19", "panic@saved:17", "panic@saved:32"] {
        holds("panic", &[("TCASM_FAULT", fault)]);
        holds("panic-and-stores", &[("TCASM_FAULT", fault)]);
    }
}

#[test]
fn panic_of_the_fault_thread_costs_one_version_and_blocks_nothing() {
    for fault in ["panic@early:1", "panic@early:3"] {
        holds("panic-and-stores", &[("TCASM_FAULT", fault)]);
    }
}

#[test]
fn without_saving_first_a_version_has_bytes_that_were_stored_after_it() {
    let guard = (tcasm_core::testing::sabotage::Guard::SaveFirst as u8).to_string();
    for scenario in ["storm", "ordinary-storm"] {
        for huge in HUGE_PAGES {
            let said = play(scenario, &[("TCASM_SABOTAGE", &guard), huge]);
            let torn = matches!(&said, Received::Line(l) if l.starts_with("violated: version"));
            assert!(torn, "{scenario}, {huge:?}: {said:?}");
        }
    }
}
