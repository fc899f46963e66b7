//! Times of many calls.

use std::time::{Duration, Instant};

/// Times, in nanoseconds.
#[derive(Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// One more.
    pub fn add(&mut self, time: Duration) {
        self.add_ns(time.as_nanos() as f64);
    }

    /// One more, in nanoseconds: a difference may be below zero.
    pub fn add_ns(&mut self, ns: f64) {
        self.0.push(ns);
    }

    /// Those of `more` too.
    pub fn extend(&mut self, more: &Samples) {
        self.0.extend(&more.0);
    }

    /// The time of one more call, and what it returned.
    pub fn time<R>(&mut self, call: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = call();
        self.add(start.elapsed());
        result
    }

    /// That of which a share of `q` is no longer.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = (sorted.len() as f64 * q).ceil() as usize;
        sorted[at.clamp(1, sorted.len()) - 1]
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }
}
