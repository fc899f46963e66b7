//! The result of a case: one object of the JSON file, and one line of the table.

use crate::user::User;
use serde::{Deserialize, Serialize};

/// The measured values of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The user of the processes: `root` or `ordinary user`. Older files do not have it.
    #[serde(default)]
    pub user: String,
    /// Name of the method.
    pub method: String,
    /// Mode of the method.
    pub mode: String,
    /// The name of the pattern.
    pub pattern: String,
    /// Share of all pages that a step writes, in per cent.
    pub coverage: u32,
    /// Size of the simulation's buffer, in bytes.
    pub bytes: u64,
    /// Number of attached observers.
    pub observers: usize,
    /// Median time per step in the method's calls, in microseconds.
    pub stall_us_p50: f64,
    /// 99th percentile of the same time.
    pub stall_us_p99: f64,
    /// The longest of the same times.
    pub stall_us_max: f64,
    /// Median step with the method minus median step without it, in milliseconds. It includes the
    /// stall, page faults, and all other effects.
    pub step_added_ms: f64,
    /// Median time from the call of publish until an observer held the version, in milliseconds.
    /// None without observers.
    pub visible_ms: Option<f64>,
    /// Memory that is held in addition to the simulation's own buffer, in bytes.
    pub held_bytes: u64,
    /// Number of measured calls of publish that were skipped.
    pub skipped: u64,
    /// True if every version that observers checked had the bytes that the simulation wrote.
    pub correct: bool,
}

/// The measured times of a case.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Nanoseconds in the method's calls, for each step.
    pub stall: Vec<f64>,
    /// Nanoseconds of each step, including the method's calls.
    pub step: Vec<f64>,
    /// Nanoseconds of the same steps in plain memory.
    pub bare: Vec<f64>,
    /// Nanoseconds from the call of publish until an observer held the version.
    pub visible: Vec<f64>,
    /// Number of calls of publish that were skipped.
    pub skipped: u64,
}

impl Samples {
    /// Returns the row of `case`.
    pub fn row(&self, case: &crate::case::Case, held_bytes: u64, correct: bool) -> Row {
        let stall = |q| quantile(&self.stall, q).unwrap_or(0.0) / 1e3;
        let median = |of: &[f64]| quantile(of, 0.5).unwrap_or(0.0);
        Row {
            user: User::current().title().to_owned(),
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

/// Returns the smallest sample that is not exceeded by at least a share `q` of all samples. Returns
/// none if there are no samples.
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
    fn quantiles_are_samples_and_an_empty_set_has_none() {
        let samples = [3.0, 1.0, 2.0, 4.0];
        let of = |q| quantile(&samples, q);
        assert_eq!(
            (of(0.0), of(0.5), of(0.99), of(1.0)),
            (Some(1.0), Some(2.0), Some(4.0), Some(4.0))
        );
        assert_eq!(quantile(&[], 0.5), None);
    }
}
