//! Forked children of the process. They inherit everything that it has and may use none of it.

use crate::Puppet;
use crate::answer::{Answer, failed, line};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, dup2_stderr, dup2_stdout, fork, pipe};
use std::fs::File;
use std::io::{Read, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use tcasm_core::sys::mem::Mapping;
use tcasm_tests::procfs;

impl Puppet {
    /// Makes a forked child obey the command, drop everything it inherited, and end.
    pub fn in_child(&mut self, command: &str) -> Answer {
        let (reader, writer) = pipe().map_err(failed)?;
        let parents = procfs::mappings("tcasm");
        // SAFETY: the only other threads are the producers' service threads. They hold no lock that
        // the child needs, and malloc keeps its own locks valid in the child.
        match unsafe { fork() }.map_err(failed)? {
            ForkResult::Child => {
                let answer = match command {
                    "reuse-addresses" => line(reuse_addresses(self, &parents)),
                    _ => self.answer(command),
                };
                drop(std::mem::take(self));
                let _ = File::from(writer).write_all(answer.as_bytes());
                exit()
            }
            ForkResult::Parent { child } => {
                drop(writer);
                let mut answer = String::new();
                File::from(reader)
                    .read_to_string(&mut answer)
                    .map_err(failed)?;
                waitpid(child, None).map_err(failed)?;
                Ok(answer)
            }
        }
    }
}

/// Leaves a forked child behind that does nothing until the test closes the standard input of the
/// process.
pub fn leave_child() -> Answer {
    // SAFETY: the same reasons hold as in `in_child`.
    match unsafe { fork() }.map_err(failed)? {
        ForkResult::Child => {
            // The test takes the end of the output for the end of the process, so the child closes
            // it.
            if let Ok(null) = File::options().write(true).open("/dev/null") {
                let _ = (dup2_stdout(&null), dup2_stderr(&null));
            }
            let stdin = std::io::stdin();
            let mut closed = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
            let _ = poll(&mut closed, PollTimeout::NONE);
            exit()
        }
        ForkResult::Parent { child } => Ok(format!("pid={child}")),
    }
}

/// Runs in a forked child. Maps memory of its own where the parent's shared objects and live memory
/// are (the child does not inherit them, so the addresses are free). Then drops the inherited
/// producers and counts the mappings that this removed.
pub fn reuse_addresses(puppet: &mut Puppet, parents: &[Range<usize>]) -> Answer {
    let reserve = |range: &Range<usize>| Mapping::reserve_at(range.start, range.len()).ok();
    let own: Vec<Mapping> = parents.iter().filter_map(reserve).collect();
    for mapping in &own {
        // SAFETY: the mapping is new, and nothing is borrowed from it.
        unsafe { mapping.put_zero(0, mapping.len(), true) }.map_err(failed)?;
    }
    drop(std::mem::take(puppet));
    let is_ours = |m: &&Mapping| procfs::is_mapped(&(m.addr()..m.addr() + m.len()));
    let kept = own.iter().filter(is_ours).count();
    let (reused, lost) = (own.len(), own.len() - kept);
    own.into_iter().for_each(std::mem::forget);
    Ok(format!("reused={reused} lost={lost}"))
}

/// Ends the process without running what the parent registered for its own end.
fn exit() -> ! {
    // SAFETY: the call ends the process and touches no memory.
    unsafe { libc::_exit(0) }
}
