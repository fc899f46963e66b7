//! Processes that do not outlive their parent.
#![allow(unsafe_code)]

use crate::failure::{Failure, While};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getppid};

/// Makes this process die when its parent, process `parent`, dies. Exits at once if the parent has
/// ended already.
pub fn die_with(parent: i32) -> Result<(), Failure> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).context("asking to die with the parent")?;
    if getppid().as_raw() != parent {
        std::process::exit(1);
    }
    Ok(())
}

/// Lowers the priority of this process below that of the simulation. So the method is measured, and
/// not the scheduler.
pub fn give_way() {
    // SAFETY: the call changes only the priority of this process and touches no memory.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

/// A forked child process. It is killed and reaped when this value is dropped.
pub struct Child(Pid);

impl Child {
    /// Runs `task` in a forked copy of this process. This process must have only one thread.
    pub fn fork(task: impl FnOnce()) -> Result<Child, Failure> {
        let parent = std::process::id() as i32;
        // SAFETY: this process has one thread, because producers that fork start no others. So no
        // lock is held by a thread that the child lacks, and the child may do all that the parent
        // can.
        match unsafe { fork() }.context("fork")? {
            ForkResult::Parent { child } => Ok(Child(child)),
            ForkResult::Child => {
                if die_with(parent).is_ok() {
                    task();
                }
                // SAFETY: `_exit` has no preconditions. It skips the exit handlers and destructors,
                // which are for the parent.
                unsafe { libc::_exit(0) }
            }
        }
    }

    /// Returns the process id.
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
