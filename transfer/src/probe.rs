//! Finds out which transports work on this machine.

use crate::shared::SharedMemory;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use std::fs;
use std::io::{self, IoSliceMut};

/// The setting of the kernel's security module Yama.
const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";
/// The number of the capability to trace other processes.
const CAP_SYS_PTRACE: u32 = 19;

/// Returns why this process cannot copy directly between itself and an owner of the same user, if
/// it cannot. [`Peer::direct`](crate::Peer::direct) tells this of one owner, which can be in
/// another namespace or forbid it.
pub fn direct_works() -> Result<(), String> {
    let (from, mut to) = ([7u8; 1], [0u8; 1]);
    let remote = RemoteIoVec {
        base: from.as_ptr().expose_provenance(),
        len: 1,
    };
    let read = process_vm_readv(Pid::this(), &mut [IoSliceMut::new(&mut to)], &[remote]);
    if let Err(error) = read {
        return Err(format!(
            "process_vm_readv is refused ({error}); a sandbox may forbid it"
        ));
    }
    let scope = fs::read_to_string(SCOPE).ok();
    let scope = scope.and_then(|text| text.trim().parse().ok());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    permitted(scope, may_trace(&status))
}

/// Returns why memory cannot be shared by files and rings, if it cannot.
pub fn sharing_works() -> io::Result<()> {
    SharedMemory::create(1).map(drop)
}

/// Returns why processes of the same user may not be traced. `scope` is the setting of Yama, if the
/// kernel has it.
fn permitted(scope: Option<u32>, privileged: bool) -> Result<(), String> {
    match scope {
        None | Some(0) => Ok(()),
        Some(1 | 2) if privileged => Ok(()),
        Some(scope @ (1 | 2)) => Err(format!(
            "{SCOPE} is {scope}, so only a process with CAP_SYS_PTRACE may read memory of others; \
             0 permits it to all processes of a user. Without it, transfers copy twice, or use \
             shared memory"
        )),
        Some(scope) => Err(format!(
            "{SCOPE} is {scope}, which forbids it until the machine is started again"
        )),
    }
}

/// Returns true if a process with this `/proc/PID/status` has the capability.
fn may_trace(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    set.is_some_and(|set| set >> CAP_SYS_PTRACE & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_and_capability_decide() {
        for (scope, privileged, works) in [
            (None, false, true),
            (Some(0), false, true),
            (Some(1), false, false),
            (Some(1), true, true),
            (Some(2), false, false),
            (Some(2), true, true),
            (Some(3), true, false),
        ] {
            assert_eq!(permitted(scope, privileged).is_ok(), works, "{scope:?}");
        }
        assert!(may_trace("Name:\tx\nCapEff:\t0000000000080000\n"));
        assert!(!may_trace("Name:\tx\nCapEff:\tfffffffffff7ffff\n"));
        assert!(!may_trace("Name:\tx\n"));
    }

    #[test]
    fn memory_can_be_shared() {
        sharing_works().unwrap();
    }
}
