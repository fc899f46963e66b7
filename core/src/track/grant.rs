//! The rights by which a process may handle faults from inside system calls.

use crate::sys::uffd::Origin;
use serde::Serialize;

/// The right by which this process gets a userfaultfd that also handles faults from inside system
/// calls. Deferred capture needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grant {
    /// The process is root, and has the capability CAP_SYS_PTRACE.
    Root,
    /// The process is not root, and has the capability CAP_SYS_PTRACE.
    Capability,
    /// The sysctl `vm.unprivileged_userfaultfd` is 1, which gives every user the right.
    Sysctl,
    /// The process can open /dev/userfaultfd.
    Device,
}

impl Grant {
    /// Returns the right by which the kernel gave out the descriptor, from where it came, the
    /// sysctl, and whether the process is root.
    pub(super) fn of(origin: Origin, sysctl: Option<u32>, root: bool) -> Self {
        match (origin, sysctl) {
            (Origin::Device, _) => Grant::Device,
            (Origin::Syscall, Some(1)) => Grant::Sysctl,
            // Without the sysctl, the system call needs CAP_SYS_PTRACE.
            (Origin::Syscall, _) if root => Grant::Root,
            (Origin::Syscall, _) => Grant::Capability,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_is_the_one_that_the_kernel_asks_for() {
        let syscall = |sysctl, root| Grant::of(Origin::Syscall, sysctl, root);
        assert_eq!(syscall(Some(0), true), Grant::Root);
        assert_eq!(syscall(Some(0), false), Grant::Capability);
        assert_eq!(syscall(None, false), Grant::Capability);
        assert_eq!(syscall(Some(1), false), Grant::Sysctl);
        assert_eq!(syscall(Some(1), true), Grant::Sysctl);
        // Root without the capability needs the device too.
        assert_eq!(Grant::of(Origin::Device, Some(0), true), Grant::Device);
    }
}
