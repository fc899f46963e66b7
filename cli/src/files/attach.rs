//! Waits for the region that a command follows.

use crate::failure::Failure;
use crate::signals::Signals;
use std::time::{Duration, Instant};
use tcasm_observer::{AttachError, Observer};

/// The interval at which loops check for signals.
pub const POLL: Duration = Duration::from_millis(100);

/// Attaches to `name`, waiting up to `wait` seconds for it to appear. Returns `None` if a signal
/// arrives.
pub fn attach(name: &str, wait: f64, signals: &Signals) -> Result<Option<Observer>, Failure> {
    let deadline = Instant::now() + Duration::from_secs_f64(wait);
    while !signals.end() {
        let left = deadline.saturating_duration_since(Instant::now());
        match Observer::attach_wait(name, left.min(POLL)) {
            Ok(observer) => return Ok(Some(observer)),
            Err(
                AttachError::NotFound { .. } | AttachError::Dead { .. } | AttachError::Ended { .. },
            ) if left > POLL => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}
