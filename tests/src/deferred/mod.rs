//! Tests of captures that go on after `publish` has returned.
//!
//! Each scenario runs in a process of its own (`bin/deferred`), because scenarios use signals,
//! limits, forked children and points at which a thread panics. There is only one copier, with a
//! low priority, so that stores reach chunks before they are saved.

mod devices;
mod failures;
mod kernel;
mod learning;
mod promise;
mod scene;
mod shared;
mod storms;

pub use kernel::poke;

use crate::check::Check;

/// The name of a scenario, and its function.
pub type Scenario = (&'static str, fn() -> Check);

/// All scenarios.
pub const SCENARIOS: &[Scenario] = &[
    (
        "kernel-writes",
        kernel::kernel_writes_do_not_reach_the_version,
    ),
    ("forks", kernel::forks_during_capture_change_no_version),
    (
        "storm",
        storms::stores_right_after_publish_do_not_reach_the_version,
    ),
    (
        "storm-without-huge-pages",
        storms::early_stores_without_huge_pages,
    ),
    ("beginnings", storms::first_stores_to_untouched_pages_wait),
    (
        "signals",
        storms::stores_of_a_signal_handler_do_not_reach_the_version,
    ),
    (
        "swaps",
        storms::swapped_buffers_can_be_written_during_capture,
    ),
    ("end", storms::close_and_drop_complete_the_capture),
    ("devices", learning::buffers_of_devices_are_captured_inline),
    (
        "silence",
        learning::unchanged_field_returns_to_inline_capture,
    ),
    (
        "prediction",
        learning::stores_to_expected_pages_do_not_fault,
    ),
    ("hurry", learning::publish_during_capture_skips_or_waits),
    ("appointed", learning::appointed_steps_wait_for_captures),
    ("panic", failures::panic_of_a_thread_gives_the_version_up),
    (
        "panic-and-stores",
        failures::panic_while_stores_wait_gives_the_version_up,
    ),
    ("memory", failures::out_of_memory_gives_the_version_up),
    (
        "ordinary-storm",
        promise::stores_of_an_ordinary_user_do_not_reach_the_version,
    ),
    (
        "ordinary-modes",
        promise::captures_of_an_ordinary_user_are_deferred_only_with_the_promise,
    ),
    (
        "broken-promise",
        promise::broken_promise_is_an_error_of_the_system_call,
    ),
    (
        "needless-promise",
        promise::broken_promise_has_no_effect_where_system_calls_wait,
    ),
    ("wait-captured", promise::wait_captured_needs_no_copier),
    ("share", shared::shared_memory_is_copied_on_write),
    ("share-marked", devices::memory_of_devices_is_not_shared),
    (
        "share-devices",
        devices::no_memory_becomes_shared_while_a_device_is_open,
    ),
    (
        "share-registered",
        devices::registered_memory_stays_in_place,
    ),
    (
        "share-fails",
        shared::sharing_without_addresses_changes_nothing,
    ),
    ("share-dropped", shared::dropped_stores_leave_memory_shared),
    (
        "share-copies-dropped",
        shared::dropped_copies_are_in_the_next_version,
    ),
    (
        "share-in-holes",
        shared::memory_of_unused_frames_is_counted_as_held,
    ),
    ("share-hot", shared::expected_pages_are_not_shared),
    ("share-recurring", shared::recurring_pages_are_not_shared),
    (
        "share-again",
        shared::densely_written_memory_is_unshared_and_shared_again,
    ),
];
