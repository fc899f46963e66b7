//! A clock that all processes share.

use std::time::Duration;

/// Returns the nanoseconds of the monotonic clock, which is the same for all processes of the
/// machine.
pub fn now_ns() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)
        .map_or(Duration::ZERO, Duration::from);
    now.as_nanos() as u64
}
