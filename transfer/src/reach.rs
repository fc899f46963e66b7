//! Reaching an owner: connecting to it, and finding out whether direct copies work.

use crate::image::{Image, Missed};
use nix::errno::Errno;
use nix::unistd::{Pid, geteuid};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};
use tcasm_core::sys::process;
use tcasm_core::sys::socket;

/// Connects, and waits a while if many others do so too.
pub(crate) fn patiently(address: &Path) -> nix::Result<OwnedFd> {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match socket::connect_to(address) {
            Err(Errno::EAGAIN) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(2));
            }
            connected => return connected,
        }
    }
}

/// Tries to read the owner's random bytes at the address that it has told.
///
/// Owners of other users are not tried, even by root: such an owner could run another program under
/// its number, and make this process write there what that user could not.
pub(crate) fn probe(owner: &process::Peer, welcome: [u64; 4]) -> Result<Image, String> {
    let pid = owner.pid;
    if pid <= 0 {
        return Err("the owner is in another pid namespace".to_owned());
    }
    if owner.uid != geteuid().as_raw() || welcome[0] == 0 {
        return Err("the owner is of another user".to_owned());
    }
    Image::find(Pid::from_raw(pid), welcome).map_err(|missed| match missed {
        Missed::Forbidden(error) => forbidden(error),
        Missed::Failed(error) => format!("the kernel refused a copy from the owner ({error})"),
        Missed::Gone | Missed::Unreadable => format!("process {pid} here is not the owner"),
    })
}

/// Returns why the kernel does not permit direct copies.
pub(crate) fn forbidden(error: Errno) -> String {
    format!(
        "the kernel does not let this process trace the owner ({error}); see ptrace_scope of Yama, \
         the user namespaces of both, and PR_SET_DUMPABLE of the owner"
    )
}
