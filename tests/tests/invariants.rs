//! Each invariant of `docs/design.md` holds, and its check fails when its guard is switched off.

use std::time::Duration;
use tcasm_core::testing::sabotage::Guard;
use tcasm_tests::child::{Child, HUGE_PAGES, Received};
use tcasm_tests::invariants::MODE;

/// A time that is longer than any check may take, including those that wait for a hang.
const LIMIT: Duration = Duration::from_secs(120);

/// Returns what the check prints for regions captured in `mode`, with or without huge pages, with
/// `guard` switched off if given.
fn check(name: &str, mode: &str, huge: (&str, &str), guard: Option<Guard>) -> Received {
    let dir = tempfile::tempdir().expect("a folder for sockets");
    let number = guard.map(|g| (g as u8).to_string());
    let number = number.iter().map(|n| ("TCASM_SABOTAGE", n.as_str()));
    let env: Vec<_> = number.chain([(MODE, mode), huge]).collect();
    let child = Child::start(env!("CARGO_BIN_EXE_invariant"), &[name], dir.path(), &env);
    child.receive(LIMIT)
}

/// Checks that the invariant holds in every capture mode, with and without huge pages.
fn holds(name: &str) {
    for mode in ["auto", "inline", "deferred"] {
        for huge in HUGE_PAGES {
            let said = check(name, mode, huge, None);
            let expected = Received::Line("holds".to_owned());
            assert_eq!(said, expected, "{name}, {mode}, {huge:?}");
        }
    }
}

/// Checks that the invariant is violated in the expected way when its guard is switched off, with
/// and without huge pages.
fn violated(name: &str, guard: Guard, how: &str) {
    for huge in HUGE_PAGES {
        let said = check(name, "auto", huge, Some(guard));
        let as_expected =
            matches!(&said, Received::Line(l) if l.starts_with("violated: ") && l.contains(how));
        assert!(
            as_expected,
            "without {guard:?} the check of {name} said {said:?}, {huge:?}"
        );
    }
}

macro_rules! invariants {
    ($($name:literal $holds:ident; $violated:ident $guard:ident $how:literal;)*) => {$(
        #[test]
        fn $holds() {
            holds($name);
        }

        #[test]
        fn $violated() {
            violated($name, Guard::$guard, $how);
        }
    )*};
}

invariants! {
    "i1" i1_frame_in_use_is_never_written;
        i1_without_its_guard_a_held_version_changes FrameInUse "changed while it was held";
    "i2" i2_a_version_is_visible_only_when_it_is_whole;
        i2_without_its_guard_a_killed_producer_leaves_half_a_version VisibleLast "after a kill at";
    "i3" i3_a_version_that_is_pinned_is_not_reclaimed;
        i3_without_its_guard_a_held_version_changes PinCheck "changed while it was held";
    "i4" i4_no_change_is_lost_when_publish_fails;
        i4_without_its_guard_a_skipped_publish_loses_changes KeepHarvest "is not what was written";
    "i5" i5_stopped_and_killed_observers_change_nothing;
        i5_without_its_guard_stopped_observers_stop_the_producer NeverWait "not done after";
    "i6" i6_an_error_of_the_tracker_loses_nothing;
        i6_without_its_guard_a_tracker_error_loses_changes ErrorMeansAll "is not what was written";
    "i7" i7_memory_stays_under_its_bound;
        i7_without_its_guard_memory_goes_over_the_bound Bound "the bound is";
    "i8" i8_hostile_observers_waste_no_more_than_the_bound;
        i8_without_its_guard_invalid_messages_are_accepted CheckMessages "is let in";
    "i9" i9_a_damaged_index_gives_errors;
        i9_without_its_guard_a_damaged_index_makes_readers_panic CheckIndex "a reader panics";
    "i11" i11_frame_shared_with_live_memory_is_not_changed;
        i11_without_its_guard_live_memory_changes_by_itself SharedInPlace "changed by itself";
    "i12" i12_versions_have_adopted_arrays_and_nothing_beside_them;
        i12_without_its_guard_an_array_that_is_gone_is_not_lost AdoptedGone "does not say";
    "i13" i13_other_steps_leave_room_for_appointed_ones;
        i13_without_its_guard_appointed_steps_are_skipped KeepReserve "was skipped";
}

#[test]
fn i12_without_its_guard_stores_to_the_edges_of_an_array_are_missed() {
    violated("i12", Guard::AdoptedEdges, "is not what was written");
}

#[test]
fn i12_without_its_guard_versions_have_bytes_of_others() {
    violated("i12", Guard::AdoptedOnly, "beside the adopted array");
}
