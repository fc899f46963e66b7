//! The problem: an iron plate whose temperature is known.
//!
//! The L-shape consists of three squares. In each of them the temperature rises or falls towards
//! the middle, and this pattern swings in time. It has the given temperature at the edge.

use std::f64::consts::{PI, TAU};

/// Length of the sides of the squares, in m.
pub const SIDE: f64 = 0.1;
/// Conductivity k of iron, in W/(m K).
pub const CONDUCTIVITY: f64 = 80.4;
/// Heat capacity rho c of iron, in J/(m^3 K).
pub const CAPACITY: f64 = 7874.0 * 449.0;
/// Temperature at the edge, in K.
pub const EDGE: f64 = 293.15;
/// Mean difference between the temperature in the middle of the squares and that at the edge, in K.
const AMPLITUDE: f64 = 100.0;
/// Period of the swing, in s.
const PERIOD: f64 = 240.0;

/// Returns the pattern at a point: 0 at the edge, 1 or -1 in the middle of the squares.
pub fn pattern(point: [f64; 3]) -> f64 {
    let [x, y, _] = point.map(|x| (PI * x / SIDE).sin());
    x * y
}

/// Returns the factor of the pattern at a time, in K.
fn swing(time: f64) -> f64 {
    AMPLITUDE * (1.0 + 0.5 * (TAU * time / PERIOD).cos())
}

/// Returns the temperature where the pattern has this value, in K.
pub fn temperature(pattern: f64, time: f64) -> f64 {
    EDGE + swing(time) * pattern
}

/// Returns the source f that makes this temperature the solution, in W/m^3:
/// `rho c dT/dt - k laplace T`, where `laplace pattern = -2 (pi / SIDE)^2 pattern`.
pub fn source(pattern: f64, time: f64) -> f64 {
    let rate = -0.5 * AMPLITUDE * TAU / PERIOD * (TAU * time / PERIOD).sin();
    let wave = PI / SIDE;
    pattern * (CAPACITY * rate + 2.0 * wave * wave * CONDUCTIVITY * swing(time))
}
