//! Heat in a square plate with cold edges and a hot point that moves in a circle: explicit Euler
//! steps of the heat equation.

use ndarray::{Array2, ArrayViewMut2, Zip, s};

/// Temperature of the plate at the beginning, and of its edges at all times, in kelvin.
const COLD: f64 = 293.15;
/// Temperature of the hot point, in kelvin.
const HOT: f64 = 1000.0;
/// Diffusivity times time step, divided by the square of the distance of points. The scheme is
/// stable up to 1/4.
const RATE: f64 = 0.2;
/// Length of a step, in seconds.
const STEP: f64 = 1e-3;

/// Sets the initial state of the plate.
pub fn initialise(mut t: ArrayViewMut2<'_, f64>) {
    t.fill(COLD);
}

/// Computes step `step` in place, from step `step` - 1.
pub fn step(mut t: ArrayViewMut2<'_, f64>, step: u64) {
    let old: Array2<f64> = t.to_owned();
    let (rows, columns) = t.dim();
    Zip::from(t.slice_mut(s![1..rows - 1, 1..columns - 1]))
        .and(old.windows([3, 3]))
        .for_each(|t, w| {
            *t += RATE * (w[[0, 1]] + w[[1, 0]] + w[[1, 2]] + w[[2, 1]] - 4.0 * w[[1, 1]]);
        });
    let hot = hot_point(t.nrows(), step);
    t[hot] = HOT;
}

/// Returns the simulated time after step `step`, in seconds.
pub fn time(step: u64) -> f64 {
    step as f64 * STEP
}

/// Returns the position of the hot point, on a circle around the middle with half the width of the
/// plate.
fn hot_point(side: usize, step: u64) -> [usize; 2] {
    let (angle, half) = (step as f64 * 0.01, side as f64 / 2.0);
    [angle.sin(), angle.cos()].map(|x| (half * (1.0 + 0.5 * x)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_spreads_from_the_hot_point_and_stays_between_cold_and_hot() {
        let mut t = Array2::zeros([32, 32]);
        initialise(t.view_mut());
        (1..=500).for_each(|n| step(t.view_mut(), n));
        assert!(t.iter().all(|t| (COLD..=HOT).contains(t)));
        let warm = t.iter().filter(|t| **t > COLD + 1.0).count();
        assert!(warm > 300, "{warm}");
        assert!(t.slice(s![0, ..]).iter().all(|t| *t == COLD), "the edge");
    }
}
