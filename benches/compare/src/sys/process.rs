//! Processes that do not outlive the one that started them.
#![allow(unsafe_code)]

use crate::failure::{Failure, While};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getppid};

/// Die with the parent, process `parent`; exit at once if it is gone already.
pub fn die_with(parent: i32) -> Result<(), Failure> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).context("asking to die with the parent")?;
    if getppid().as_raw() != parent {
        std::process::exit(1);
    }
    Ok(())
}

/// Give way to the simulation, so that what is measured is the method and not the scheduler.
pub fn give_way() {
    // SAFETY: changes a number of this process, and touches no memory.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

/// A forked child: killed and reaped when dropped.
pub struct Child(Pid);

impl Child {
    /// Run `task` in a copy of this process, which must have one thread.
    pub fn fork(task: impl FnOnce()) -> Result<Child, Failure> {
        let parent = std::process::id() as i32;
        // SAFETY: this process has one thread (the producers that fork start none), so the child may do all that it could.
        match unsafe { fork() }.context("fork")? {
            ForkResult::Parent { child } => Ok(Child(child)),
            ForkResult::Child => {
                if die_with(parent).is_ok() {
                    task();
                }
                // SAFETY: ends the child without running what the parent has registered for its own end.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Its process id.
    pub fn id(&self) -> i32 {
        self.0.as_raw()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL);
        let _ = waitpid(self.0, None);
    }
}
