//! The invariants of `docs/design.md`, each as a function that looks for a violation.
//!
//! Each check runs in a process of its own (`bin/invariant`). A guard is switched off for a whole
//! process, and the violation may hang or crash it. A check uses public interfaces only, knows
//! nothing of guards, and always ends, even if `publish` does not.

mod adopted;
mod common;
mod damage;
mod failures;
mod peers;
mod shared;
mod versions;

pub use common::MODE;
pub use peers::{die_in_publish, hold};

use crate::check::Check;

/// The name of a check, and its function.
pub type Named = (&'static str, fn() -> Check);

/// All checks.
pub const CHECKS: [Named; 12] = [
    ("i1", versions::i1_frame_in_use_is_never_written),
    ("i2", peers::i2_a_version_is_visible_only_when_it_is_whole),
    ("i3", versions::i3_a_version_that_is_pinned_is_not_reclaimed),
    ("i4", failures::i4_no_change_is_lost_when_publish_fails),
    ("i5", peers::i5_stopped_and_killed_observers_change_nothing),
    ("i6", failures::i6_an_error_of_the_tracker_loses_nothing),
    ("i7", versions::i7_memory_stays_under_its_bound),
    (
        "i8",
        peers::i8_hostile_observers_waste_no_more_than_the_bound,
    ),
    ("i9", damage::i9_a_damaged_index_gives_errors),
    (
        "i11",
        shared::i11_frame_shared_with_live_memory_is_not_changed,
    ),
    (
        "i12",
        adopted::i12_versions_have_adopted_arrays_and_nothing_beside_them,
    ),
    (
        "i13",
        versions::i13_other_steps_leave_room_for_appointed_ones,
    ),
];
