//! Checking every byte of checkpoints.

use crate::chain::{Care, Chains};
use crate::error::ReadError;
use std::path::Path;

/// Checks checkpoints, each file once, however many build on it.
#[derive(Debug)]
pub struct Verifier(Chains);

/// A checkpoint of which every byte was read and found to be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its step.
    pub step: u64,
    /// Files that it takes to read it.
    pub files: usize,
    /// Step of the first of them.
    pub first: u64,
}

impl Verifier {
    /// Creates a verifier that has seen no file yet.
    pub fn new() -> Self {
        Verifier(Chains::new(Care::Copies))
    }

    /// Reads all fields of the checkpoint at `path`, what it shows to other programs besides, and
    /// what it builds on, as far as none of that was read before.
    pub fn verify(&mut self, path: impl AsRef<Path>) -> Result<Verified, ReadError> {
        let whole = self.0.check(path.as_ref())?;
        Ok(Verified {
            step: whole.step,
            files: whole.files,
            first: whole.first,
        })
    }
}

impl Default for Verifier {
    fn default() -> Self {
        Verifier::new()
    }
}
