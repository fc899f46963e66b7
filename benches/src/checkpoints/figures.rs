//! The results of a group of measurements.

use crate::bars::Bar;

/// The measured values of a group.
pub struct Figures {
    /// Tables, with the text that explains them.
    pub text: String,
    /// The values that have a limit.
    pub bars: Vec<Bar>,
}

/// Formats a time in milliseconds.
pub fn ms(ns: f64) -> String {
    format!("{:.1} ms", ns / 1e6)
}
