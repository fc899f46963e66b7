//! Deadlines.

use std::time::{Duration, Instant};

/// When `timeout` from now is over. A time that no clock will show, as `Duration::MAX`, means as good as never.
pub fn deadline(timeout: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    let now = Instant::now();
    now.checked_add(timeout.min(CENTURY)).unwrap_or(now)
}
