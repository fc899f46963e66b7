//! The result of a measurement.

/// The values that were measured, or any error.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;
