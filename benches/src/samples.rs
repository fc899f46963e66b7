//! Measured times of many calls.

use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A list of times, in nanoseconds, or of other values of one kind.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        self.add_ns(time.as_nanos() as f64);
    }

    /// Adds a time in nanoseconds. It may be negative if it is a difference.
    pub fn add_ns(&mut self, ns: f64) {
        self.0.push(ns);
    }

    /// Adds a value that is no time, such as a ratio.
    pub fn add_value(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Returns true if there are no times.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds all times of `more`.
    pub fn extend(&mut self, more: &Samples) {
        self.0.extend(&more.0);
    }

    /// Adds the time of `call`, and returns its result.
    pub fn time<R>(&mut self, call: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = call();
        self.add(start.elapsed());
        result
    }

    /// Returns the smallest time that is not exceeded by at least a share `q` of all times.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = (sorted.len() as f64 * q).ceil() as usize;
        sorted[at.clamp(1, sorted.len()) - 1]
    }

    /// Returns the median.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }
}
