//! Checks every byte of checkpoints.

use super::chain::{Care, Chains};
use crate::error::ReadError;
use std::path::Path;

/// A verifier of checkpoints. It reads each file once, however many increments build on it.
#[derive(Debug)]
pub struct Verifier(Chains);

/// A checkpoint of which every byte was read and is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verified {
    /// Its step.
    pub step: u64,
    /// The number of files that it is read from.
    pub files: usize,
    /// The step of the full checkpoint that it builds on, or its own.
    pub first: u64,
    /// The largest bound of the relative error of a field, if values are rounded.
    pub relative_error: Option<f64>,
}

impl Verifier {
    /// Creates a verifier that has seen no file yet.
    pub fn new() -> Self {
        Verifier(Chains::new(Care::Copies))
    }

    /// Reads and checks all fields of the checkpoint at `path`, the copies for other programs, and
    /// all that it builds on. Skips files that were already checked.
    pub fn verify(&mut self, path: impl AsRef<Path>) -> Result<Verified, ReadError> {
        let whole = self.0.check(path.as_ref())?;
        Ok(Verified {
            step: whole.step,
            files: whole.files,
            first: whole.first,
            relative_error: whole.relative_error(),
        })
    }
}

impl Default for Verifier {
    fn default() -> Self {
        Verifier::new()
    }
}
