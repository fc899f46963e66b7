//! Deadlines, and the time of day.
//!
//! Code that waits or measures uses a clock that is never set (`Instant`). The time of day is only
//! shown to people. It may go backwards, so nothing is ordered by it.

use std::time::{Duration, Instant, SystemTime};

/// Returns the time at which `timeout` from now is over. Timeouts of more than 100 years, such as
/// `Duration::MAX`, are cut to 100 years.
pub fn deadline(timeout: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    let now = Instant::now();
    now.checked_add(timeout.min(CENTURY)).unwrap_or(now)
}

/// Returns the time of day in nanoseconds of the Unix epoch, 0 before it.
pub fn unix_ns() -> u64 {
    #[cfg(feature = "fault-points")]
    if let Some(ns) = pretended::now() {
        return ns;
    }
    let since = SystemTime::UNIX_EPOCH.elapsed();
    since.map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(feature = "fault-points")]
pub use pretended::pretend;

#[cfg(feature = "fault-points")]
mod pretended {
    use std::sync::Mutex;

    static NOW: Mutex<Option<u64>> = Mutex::new(None);

    /// Makes this process use `ns` as the time of day from now on. This is for tests, which cannot
    /// set the machine's clock.
    pub fn pretend(ns: u64) {
        *NOW.lock().expect("no test panics here") = Some(ns);
    }

    pub(super) fn now() -> Option<u64> {
        *NOW.lock().expect("no test panics here")
    }
}
