//! The producer of a case: it runs the steps and measures them.

use crate::failure::Failure;
use std::ops::Range;

/// A simulation that can run the same step twice: in memory that observers see, and in plain
/// memory.
pub trait Simulation {
    /// Returns the bytes that the producer held before it had memory that observers see.
    fn own_bytes(&self) -> u64;
    /// Prepares these steps. Not measured.
    fn prepare(&mut self, _steps: Range<u64>) {}
    /// Runs the step in plain memory.
    fn bare_step(&mut self, step: u64);
    /// Records what observers need to check the step. Called after the bare step. Not measured.
    fn note(&mut self, _step: u64) {}
    /// Makes the method's call before a step.
    fn begin(&mut self, _step: u64) -> Result<(), Failure> {
        Ok(())
    }
    /// Runs the step in the memory that observers see.
    fn step(&mut self, step: u64) -> Result<(), Failure>;
    /// Publishes the step. Returns false if the publish was skipped.
    fn publish(&mut self, step: u64) -> Result<bool, Failure>;
    /// Removes what older versions need. Called after the observers have finished them. Not
    /// measured.
    fn clean_up(&mut self) {}
}
