//! Objects that one thread uses at a time, and calls that wait.

use crate::status::{Failure, TCASM_CLOSED, TCASM_INVALID_ARGUMENT};
use parking_lot::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tcasm_core::sys::time::deadline;

/// How long a waiting call keeps an object from other threads.
pub const SLICE: Duration = Duration::from_millis(20);

/// An object that calls use one after the other. It is gone once it is closed.
pub struct Turns<T>(Mutex<Option<T>>);

impl<T> Turns<T> {
    pub fn new(object: T) -> Self {
        Turns(Mutex::new(Some(object)))
    }

    /// Calls `body` with the object. Then lets the thread in that waits longest: otherwise one that
    /// waits for versions in slices would keep the others out.
    pub fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> Result<R, Failure> {
        let mut object = self.0.lock();
        let result = object.as_mut().map(body);
        MutexGuard::unlock_fair(object);
        result.ok_or_else(|| Failure::new(TCASM_CLOSED, "it was closed by another thread"))
    }

    /// Ends the object, once no other thread uses it.
    pub fn close(&self) {
        let object = self.0.lock().take();
        drop(object);
    }

    /// Calls `look` with the time that it may wait until it returns a result, or `timeout` seconds
    /// are over. Between the calls other threads can use the object.
    pub fn wait<R>(
        &self,
        timeout: f64,
        mut look: impl FnMut(&mut T, Duration) -> R,
        again: impl Fn(&R) -> bool,
    ) -> Result<R, Failure> {
        let end = deadline(seconds(timeout)?);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let result = self.with(|object| look(object, left.min(SLICE)))?;
            if !again(&result) || left <= SLICE {
                return Ok(result);
            }
        }
    }
}

/// Returns a duration of so many seconds. A negative number stands for ever.
pub fn seconds(seconds: f64) -> Result<Duration, Failure> {
    if seconds.is_nan() {
        return Err(Failure::new(
            TCASM_INVALID_ARGUMENT,
            "the timeout is not a number",
        ));
    }
    let whole = Duration::try_from_secs_f64(seconds);
    Ok(whole.unwrap_or(Duration::MAX))
}
