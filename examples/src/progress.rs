//! Prints lines of progress.

use crate::checksum::checksum_of_planes;
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
        self.print_summary(step, Summary::of_planes(u, v, 0));
    }

    /// Prints a line for `step` with the summary of both fields.
    pub fn print_summary(&mut self, step: u64, summary: Summary) {
        let cells = (step - self.step) as f64 * self.cells as f64;
        let rate = cells / self.since.elapsed().as_secs_f64();
        let (min, max) = summary.v_range;
        let [u_sum, v_sum] = summary.sums;
        say(format_args!(
            "step {step:>7}  v {min:.4} .. {max:.4}  {rate:.2e} cells/s  \
             checksum u {u_sum:016x} v {v_sum:016x}"
        ));
        (self.step, self.since) = (step, Instant::now());
    }
}

/// The values of a line of progress, of the whole grid or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The smallest and the largest value of v.
    pub v_range: (f64, f64),
    /// The checksums of u and of v. Those of parts add up, modulo 2^64.
    pub sums: [u64; 2],
}

impl Summary {
    /// Computes the values of some planes, from plane `first` of the grid on.
    pub fn of_planes(u: ArrayView3<'_, f64>, v: ArrayView3<'_, f64>, first: usize) -> Self {
        Summary {
            v_range: min_max(v),
            sums: [u, v].map(|cells| checksum_of_planes(cells, first)),
        }
    }
}

fn min_max(cells: ArrayView3<'_, f64>) -> (f64, f64) {
    let widen = |(min, max): (f64, f64), &x: &f64| (min.min(x), max.max(x));
    cells.iter().fold((f64::INFINITY, f64::NEG_INFINITY), widen)
}
