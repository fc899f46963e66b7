//! Waiting in slices: without the interpreter's lock, and with a look at signals between slices.

use pyo3::prelude::*;
use std::time::{Duration, Instant};
use tcasm_core::sys::time::deadline;

/// How long a call waits without a look at signals.
const SLICE: Duration = Duration::from_millis(40);

/// The time that a call may take.
pub struct Limit(Option<Instant>);

impl Limit {
    /// Returns the limit that ends after `timeout`, or never.
    pub fn new(timeout: Option<Duration>) -> Self {
        Limit(timeout.map(deadline))
    }

    fn left(&self) -> Duration {
        let left = |end: Instant| end.saturating_duration_since(Instant::now());
        self.0.map_or(Duration::MAX, left)
    }
}

/// Calls `look` with the time that it may wait, without the interpreter's lock, until it returns a
/// result for which `again` is false, or the limit is reached. A signal whose handler raises ends
/// the wait, with that exception.
pub fn in_slices<T: Send>(
    py: Python<'_>,
    limit: &Limit,
    mut look: impl FnMut(Duration) -> T + Send,
    again: impl Fn(&T) -> bool,
) -> PyResult<T> {
    loop {
        let left = limit.left();
        let slice = left.min(SLICE);
        let found = py.detach(|| look(slice));
        if !again(&found) {
            return Ok(found);
        }
        py.check_signals()?;
        if left <= slice {
            return Ok(found);
        }
    }
}
