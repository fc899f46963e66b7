//! The methods that are compared: ways to show memory to other processes, one file for each.

mod adios2;
mod anon_asm;
mod buffers;
mod copy;
mod event;
mod file_asm;
mod fork;
mod hand_over;
mod iceoryx2;
mod lock;
mod mprotect;
pub mod tcasm;
mod torn;

use crate::case::Case;
use crate::failure::{Failure, While};
use crate::workload::PAGE;
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

/// All methods that are compared.
pub const ALL: [&dyn Method; 9] = [
    &tcasm::Tcasm,
    &copy::Copy,
    &lock::Lock,
    &fork::Fork,
    &mprotect::Mprotect,
    &anon_asm::AnonAsm,
    &file_asm::FileAsm,
    &iceoryx2::Iceoryx2,
    &adios2::Adios2,
];

/// Returns the method of this name. Also finds the method `torn`, which is for tests only.
pub fn find(name: &str) -> Result<&'static dyn Method, Failure> {
    let torn: &dyn Method = &torn::Torn;
    let found = ALL.into_iter().chain([torn]).find(|m| m.name() == name);
    found.ok_or_else(|| {
        let names = ALL.map(|m| m.name()).join(", ");
        Failure::UnknownMethod(name.to_owned(), names)
    })
}

/// Returns the error for a mode that the method does not have.
pub fn no_mode(method: &dyn Method, mode: &str) -> Failure {
    Failure::Mode {
        method: method.name().to_owned(),
        mode: mode.to_owned(),
        modes: method.modes().join(", "),
    }
}

/// Copies all pages that the step will not rewrite. For methods where each step computes in other
/// memory than the step before.
fn carry_over(from: &[u8], to: &mut [u8], rewritten: &[usize]) {
    let mut start = 0;
    for end in rewritten.iter().map(|page| page * PAGE).chain([from.len()]) {
        let kept = start..end.max(start);
        to[kept.clone()].copy_from_slice(&from[kept]);
        start = end + PAGE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carry_over_copies_all_pages_but_those_that_are_rewritten() {
        let from = vec![7; 5 * PAGE];
        for rewritten in [&[][..], &[0], &[4], &[1, 2], &[0, 1, 2, 3, 4]] {
            let mut to = vec![0; from.len()];
            carry_over(&from, &mut to, rewritten);
            for page in 0..5 {
                let wanted = if rewritten.contains(&page) { 0 } else { 7 };
                let bytes = &to[page * PAGE..(page + 1) * PAGE];
                assert!(bytes.iter().all(|b| *b == wanted), "{rewritten:?} {page}");
            }
        }
    }
}
