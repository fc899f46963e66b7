//! One clock for all processes.

use std::time::Duration;

/// Nanoseconds of the monotonic clock, which every process of the machine reads alike.
pub fn now_ns() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)
        .map_or(Duration::ZERO, Duration::from);
    now.as_nanos() as u64
}
