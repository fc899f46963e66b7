//! Deadlines, and the time of day.
//!
//! Whatever waits or measures uses a clock that is never set (`Instant`). The time of day is only
//! shown to people: it may go backwards, and nothing is ordered by it.

use std::time::{Duration, Instant, SystemTime};

/// When `timeout` from now is over. A time that no clock will show, as `Duration::MAX`, means as good as never.
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

    /// Lets this process take `ns` for the time of day from now on: for tests, which cannot set the
    /// machine's clock.
    pub fn pretend(ns: u64) {
        *NOW.lock().expect("no test panics here") = Some(ns);
    }

    pub(super) fn now() -> Option<u64> {
        *NOW.lock().expect("no test panics here")
    }
}
