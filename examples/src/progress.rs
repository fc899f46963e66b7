//! Prints lines of progress.

use crate::checksum::checksum;
use crate::output::say;
use ndarray::ArrayView3;
use std::time::Instant;

/// Prints the step, the range of v, the speed, and checksums of both fields.
///
/// Runs with the same parameters print the same checksums at the same steps, wherever their arrays
/// are in memory and however often they were stopped and continued.
pub struct Progress {
    cells: usize,
    step: u64,
    since: Instant,
}

impl Progress {
    /// Starts the progress of a run over a grid of `shape` that has done `step` steps.
    pub fn new(shape: [usize; 3], step: u64) -> Self {
        Progress {
            cells: shape.iter().product(),
            step,
            since: Instant::now(),
        }
    }

    /// Prints a line for `step`. The speed is the mean since the last line.
    pub fn print(&mut self, step: u64, u: ArrayView3<'_, f64>, v: ArrayView3<'_, f64>) {
        let cells = (step - self.step) as f64 * self.cells as f64;
        let rate = cells / self.since.elapsed().as_secs_f64();
        let (min, max) = min_max(v);
        let (u_sum, v_sum) = (checksum(u), checksum(v));
        say(format_args!(
            "step {step:>7}  v {min:.4} .. {max:.4}  {rate:.2e} cells/s  \
             checksum u {u_sum:016x} v {v_sum:016x}"
        ));
        (self.step, self.since) = (step, Instant::now());
    }
}

fn min_max(cells: ArrayView3<'_, f64>) -> (f64, f64) {
    let widen = |(min, max): (f64, f64), &x: &f64| (min.min(x), max.max(x));
    cells.iter().fold((f64::INFINITY, f64::NEG_INFINITY), widen)
}
