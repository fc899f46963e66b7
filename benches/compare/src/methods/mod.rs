//! The ways to show memory to other processes that are compared, one file each.

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

/// The producer's side: where the simulation computes, and how it offers what it computed.
pub trait Source {
    /// The memory that the simulation writes.
    fn memory(&mut self) -> &mut [u8];

    /// Before the first write of a step, which will write the whole of the pages in `rewritten`, and no others. Counted as
    /// stall.
    fn begin(&mut self, _rewritten: &[usize]) -> Result<(), Failure> {
        Ok(())
    }

    /// Offer the memory as it is as the version of `step`. False: nothing was offered, the next one will hold the changes.
    fn publish(&mut self, step: u64) -> Result<bool, Failure>;

    /// After the observers are through with older versions; not counted.
    fn tidy(&mut self) {}
}

/// An observer's side.
pub trait Sink {
    /// Wait for a version newer than that of step `after` (any, if none) and hold it. None: there is none in this time.
    fn take(&mut self, after: Option<u64>, timeout: Duration) -> Result<Option<u64>, Failure>;

    /// Bytes of the version that is held.
    fn bytes(&self) -> Result<&[u8], Failure>;

    /// Let go of it.
    fn release(&mut self) -> Result<(), Failure>;
}

/// One way to do it.
pub trait Method: Sync {
    /// Its name in options and rows.
    fn name(&self) -> &'static str;

    /// Its modes, the best first.
    fn modes(&self) -> Vec<String> {
        vec!["default".to_owned()]
    }

    /// Why it, or the case, cannot be had here.
    fn obstacle(&self, _case: &Case) -> Option<String> {
        None
    }

    /// Bytes of memory that the case takes at most, about: where they are not there, it is left out.
    fn needed_bytes(&self, case: &Case) -> u64 {
        case.bytes() as u64 * 8
    }

    /// Steps of a pattern until a method that adapts to it has done so, for a buffer of so many bytes.
    fn settling_steps(&self, _bytes: usize) -> u64 {
        2
    }

    /// Whether a case takes so long to start that a quick run has few of them.
    fn is_slow_to_start(&self) -> bool {
        false
    }

    /// Make a producer.
    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure>;

    /// Attach observer `observer`. None: observers do not attach, the producer makes them.
    fn sink(&self, case: &Case, observer: usize) -> Result<Option<Box<dyn Sink>>, Failure>;

    /// Whether observers attach by themselves.
    fn observers_attach(&self) -> bool {
        true
    }

    /// The program that runs as the producer of `case`, whose description lies in its folder.
    fn command(&self, case: &Case) -> Result<Command, Failure> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut command = Command::new(program);
        command
            .arg("produce")
            .arg(case.path("case.json"))
            .arg(std::process::id().to_string());
        Ok(command)
    }

    /// Remove what killed processes may have left outside the folder of the case.
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

/// The method of that name; the torn one, which tests need, is found as well.
pub fn find(name: &str) -> Result<&'static dyn Method, Failure> {
    let torn: &dyn Method = &torn::Torn;
    let found = ALL.into_iter().chain([torn]).find(|m| m.name() == name);
    found.ok_or_else(|| {
        let names = ALL.map(|m| m.name()).join(", ");
        Failure::UnknownMethod(name.to_owned(), names)
    })
}

/// The error of a mode that a method does not have.
pub fn no_mode(method: &dyn Method, mode: &str) -> Failure {
    Failure::Mode {
        method: method.name().to_owned(),
        mode: mode.to_owned(),
        modes: method.modes().join(", "),
    }
}

/// Copy the pages between those that will be rewritten, where each step is in other memory.
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
    fn what_is_carried_over_is_all_but_the_pages_that_are_rewritten() {
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
