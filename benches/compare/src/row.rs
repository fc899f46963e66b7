//! What a case gives: one object of the JSON file, one line of the table.

use serde::{Deserialize, Serialize};

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Name of the method.
    pub method: String,
    /// Which of its ways.
    pub mode: String,
    /// How the written pages lie.
    pub pattern: String,
    /// Share of all pages that a step writes, in per cent.
    pub coverage: u32,
    /// Bytes of the simulation's buffer.
    pub bytes: u64,
    /// Observers attached.
    pub observers: usize,
    /// Time in the method's calls, per step: median, in microseconds.
    pub stall_us_p50: f64,
    /// The same, 99th percentile.
    pub stall_us_p99: f64,
    /// The same, longest.
    pub stall_us_max: f64,
    /// Median step with the method less median step without, in milliseconds: stall, page faults, and the rest.
    pub step_added_ms: f64,
    /// From the call of publish until an observer had the version, median in milliseconds; none without observers.
    pub visible_ms: Option<f64>,
    /// Memory held beyond the simulation's own buffer.
    pub held_bytes: u64,
    /// Calls of publish that offered nothing, of those measured.
    pub skipped: u64,
    /// Whether all that observers saw was what the simulation had written.
    pub correct: bool,
}

/// What was measured, step by step.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Nanoseconds in the method's calls.
    pub stall: Vec<f64>,
    /// Nanoseconds of the step, method and all.
    pub step: Vec<f64>,
    /// Nanoseconds of the same step in plain memory.
    pub bare: Vec<f64>,
    /// Nanoseconds until an observer had the version.
    pub visible: Vec<f64>,
    /// Calls of publish that offered nothing.
    pub skipped: u64,
}

impl Samples {
    /// The row of `case`.
    pub fn row(&self, case: &crate::case::Case, held_bytes: u64, correct: bool) -> Row {
        let stall = |q| quantile(&self.stall, q).unwrap_or(0.0) / 1e3;
        let median = |of: &[f64]| quantile(of, 0.5).unwrap_or(0.0);
        Row {
            method: case.method.clone(),
            mode: case.mode.clone(),
            pattern: case.pattern.clone(),
            coverage: case.workload.coverage,
            bytes: case.bytes() as u64,
            observers: case.observers,
            stall_us_p50: stall(0.5),
            stall_us_p99: stall(0.99),
            stall_us_max: stall(1.0),
            step_added_ms: (median(&self.step) - median(&self.bare)) / 1e6,
            visible_ms: quantile(&self.visible, 0.5).map(|ns| ns / 1e6),
            held_bytes,
            skipped: self.skipped,
            correct,
        }
    }
}

/// The smallest sample that at least a share `q` of all do not exceed.
pub fn quantile(samples: &[f64], q: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * q).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples_and_of_nothing_there_is_none() {
        let samples = [3.0, 1.0, 2.0, 4.0];
        let of = |q| quantile(&samples, q);
        assert_eq!(
            (of(0.0), of(0.5), of(0.99), of(1.0)),
            (Some(1.0), Some(2.0), Some(4.0), Some(4.0))
        );
        assert_eq!(quantile(&[], 0.5), None);
    }
}
