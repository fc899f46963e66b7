//! Reaching an owner: connecting to it, and finding out whether direct copies work.

use crate::beacon::expected;
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::{Pid, geteuid};
use std::io::IoSliceMut;
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
pub(crate) fn probe(owner: &process::Peer, welcome: [u64; 4]) -> Result<(), String> {
    let pid = owner.pid;
    if pid <= 0 {
        return Err("the owner is in another pid namespace".to_owned());
    }
    if owner.uid != geteuid().as_raw() || welcome[0] == 0 {
        return Err("the owner is of another user".to_owned());
    }
    let mut bytes = [0; 16];
    let base = usize::try_from(welcome[0]).map_err(|error| error.to_string())?;
    let remote = RemoteIoVec { base, len: 16 };
    let local = &mut [IoSliceMut::new(&mut bytes)];
    let read = process_vm_readv(Pid::from_raw(pid), local, &[remote]);
    match read {
        Ok(16) if bytes == expected(welcome) => Ok(()),
        Ok(_) => Err(format!("process {pid} here is not the owner")),
        Err(error) => Err(format!(
            "the kernel does not let this process trace the owner ({error}); see ptrace_scope of \
             Yama and the user namespaces of both"
        )),
    }
}
