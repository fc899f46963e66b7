//! The traits of a method: its producer, its observer, and the function that creates them.

use crate::case::Case;
use crate::failure::{Failure, While};
use std::process::Command;
use std::time::Duration;

/// The producer's side of a method: the memory in which the simulation computes, and the calls that
/// publish it.
pub trait Source {
    /// Returns the memory that the simulation writes.
    fn memory(&mut self) -> &mut [u8];

    /// Prepares a step. Called before the first write of the step, which will write the whole of
    /// the pages in `rewritten`, and no others. Counted as stall.
    fn begin(&mut self, _rewritten: &[usize]) -> Result<(), Failure> {
        Ok(())
    }

    /// Publishes the present state of the memory as the version of `step`. Returns false if the
    /// publish was skipped. The next version contains the changes then.
    fn publish(&mut self, step: u64) -> Result<bool, Failure>;

    /// Removes what older versions need. Called after the observers have finished them. Not counted
    /// as stall.
    fn clean_up(&mut self) {}
}

/// The observer's side of a method.
pub trait Sink {
    /// Waits for a version newer than that of step `after`, or for any version if `after` is none,
    /// and holds it. Returns its step, or none if there was no such version within `timeout`.
    fn take(&mut self, after: Option<u64>, timeout: Duration) -> Result<Option<u64>, Failure>;

    /// Returns the bytes of the version that is held.
    fn bytes(&self) -> Result<&[u8], Failure>;

    /// Releases the version that is held.
    fn release(&mut self) -> Result<(), Failure>;
}

/// A method to show memory to other processes.
pub trait Method: Sync {
    /// Returns the name of the method in options and rows.
    fn name(&self) -> &'static str;

    /// Returns the modes of the method, the best first.
    fn modes(&self) -> Vec<String> {
        vec!["default".to_owned()]
    }

    /// Returns the reason if the method or the case cannot run on this machine.
    fn obstacle(&self, _case: &Case) -> Option<String> {
        None
    }

    /// Returns an estimate of the most memory that the case takes, in bytes. A case that needs more
    /// memory than is available is left out.
    fn needed_bytes(&self, case: &Case) -> u64 {
        case.bytes() as u64 * 8
    }

    /// Returns the number of steps after which the method has adapted to a pattern, for a buffer of
    /// this size.
    fn settling_steps(&self, _bytes: usize) -> u64 {
        2
    }

    /// Returns true if cases start so slowly that a quick run should have few of them.
    fn is_slow_to_start(&self) -> bool {
        false
    }

    /// Creates the producer's side.
    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure>;

    /// Attaches observer `observer`. Returns none if observers do not attach because the producer
    /// creates them.
    fn sink(&self, case: &Case, observer: usize) -> Result<Option<Box<dyn Sink>>, Failure>;

    /// Returns true if observers are processes that attach by themselves.
    fn observers_attach(&self) -> bool {
        true
    }

    /// Returns the command that runs the producer of `case`. The folder of the case contains its
    /// description.
    fn command(&self, case: &Case) -> Result<Command, Failure> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut command = Command::new(program);
        command
            .arg("produce")
            .arg(case.path("case.json"))
            .arg(std::process::id().to_string());
        Ok(command)
    }

    /// Removes what killed processes may have left outside the folder of the case.
    fn clean_up(&self, _case: &Case) {}
}

/// Returns the error for a mode that the method does not have.
pub fn no_mode(method: &dyn Method, mode: &str) -> Failure {
    Failure::Mode {
        method: method.name().to_owned(),
        mode: mode.to_owned(),
        modes: method.modes().join(", "),
    }
}
