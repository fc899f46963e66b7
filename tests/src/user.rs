//! Processes that change to an ordinary user, who has no rights.

use crate::child;
use crate::filter::{self, Refused};
use nix::sys::prctl::set_dumpable;
use nix::unistd::{Gid, Uid, chown, setgroups, setresgid, setresuid};

/// A user that owns nothing else.
pub const ORDINARY: u32 = 65534;

/// The request to /dev/userfaultfd that makes a userfaultfd.
pub const USERFAULTFD_IOC_NEW: u32 = 0xAA00;

/// Changes to another user until the process ends. The process stays dumpable, as it was, so that
/// others can still look into it.
pub fn become_user(uid: u32) -> nix::Result<()> {
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)?;
    set_dumpable(true)?;
    child::die_with_parent(); // the kernel forgets this when the user changes
    Ok(())
}

/// Makes this process one of an ordinary user, who owns the folder of sockets. On a machine that
/// gives every user a userfaultfd for faults from inside system calls, this process gets none.
pub fn become_ordinary() -> Result<(), String> {
    if Uid::effective().is_root() {
        let (user, group) = (Uid::from_raw(ORDINARY), Gid::from_raw(ORDINARY));
        let owned = chown(crate::runtime_dir(), Some(user), Some(group));
        owned
            .and_then(|()| become_user(ORDINARY))
            .map_err(|e| format!("changing the user: {e}"))?;
    }
    let all_faults = (libc::O_CLOEXEC | libc::O_NONBLOCK) as u32;
    let calls = [
        Refused::with(libc::SYS_userfaultfd, 0, all_faults),
        Refused::ioctl(USERFAULTFD_IOC_NEW),
    ];
    filter::refuse(&calls).map_err(|e| format!("refusing userfaultfd: {e}"))
}
