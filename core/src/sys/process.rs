//! Other processes: their identity, and whether they still run. A pid alone is never enough,
//! because the system reuses pids.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The process at the other end of a Unix socket.
#[derive(Debug)]
pub struct Peer {
    /// Its process id, as the kernel recorded it at the time of connecting. 0 stands for a process
    /// in another pid namespace.
    pub pid: i32,
    /// Its user id.
    pub uid: u32,
    /// Its group id.
    pub gid: u32,
    life: Life,
}

/// The knowledge of whether a process still runs.
#[derive(Debug)]
enum Life {
    /// This handle of the process tells whether it runs.
    Handle(OwnedFd),
    /// The process had ended before a handle could be opened.
    Ended,
    /// Nothing is known, because the process is in another pid namespace or the kernel has no
    /// handles. Only the end of the connection shows that the process has ended.
    Unknown,
}

impl Peer {
    /// Returns the process at the other end of `socket`.
    pub fn of(socket: &impl AsFd) -> nix::Result<Self> {
        let cred = getsockopt(&socket.as_fd(), sockopt::PeerCredentials)?;
        let life = peer_handle(socket).map_or_else(|| life_of(cred.pid()), Life::Handle);
        Ok(Peer {
            pid: cred.pid(),
            uid: cred.uid(),
            gid: cred.gid(),
            life,
        })
    }

    /// Returns a descriptor that becomes readable when the process ends, if there is one.
    pub fn handle(&self) -> Option<BorrowedFd<'_>> {
        match &self.life {
            Life::Handle(handle) => Some(handle.as_fd()),
            Life::Ended | Life::Unknown => None,
        }
    }

    /// Returns true if the process still runs, or if that is not known.
    pub fn alive(&self) -> bool {
        match &self.life {
            Life::Unknown => true,
            Life::Ended => false,
            Life::Handle(handle) => {
                let mut fds = [PollFd::new(handle.as_fd(), PollFlags::POLLIN)];
                !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(n) if n > 0)
            }
        }
    }
}

/// Returns the name of the program that process `pid` runs. The process can choose it, so it may
/// have any characters. Returns `None` if there is no such process, or if this user may not see it.
pub fn program(pid: u64) -> Option<String> {
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    let name = name.strip_suffix(b"\n").unwrap_or(&name);
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Returns a process handle from the socket itself (Linux 6.5), which cannot be affected by the
/// reuse of pids.
fn peer_handle(socket: &impl AsFd) -> Option<OwnedFd> {
    const SO_PEERPIDFD: libc::c_int = 77;
    let (mut fd, mut len): (libc::c_int, libc::socklen_t) = (-1, 4);
    // SAFETY: the kernel writes one int to `fd` and its size to `len`, both of which live during
    // the call.
    let result = unsafe {
        let socket = socket.as_fd().as_raw_fd();
        libc::getsockopt(
            socket,
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &raw mut len,
        )
    };
    // SAFETY: on success the descriptor is new, and nothing else owns it.
    (result == 0 && fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Opens a process handle by pid, for older kernels. It is called at connecting time, when the pid
/// has hardly been reused yet.
fn life_of(pid: i32) -> Life {
    if pid <= 0 {
        return Life::Unknown;
    }
    // SAFETY: pidfd_open takes two integers, and touches no memory.
    match Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) }) {
        // SAFETY: the descriptor is new, and nothing else owns it.
        Ok(fd) => Life::Handle(unsafe { OwnedFd::from_raw_fd(fd as i32) }),
        Err(Errno::ESRCH) => Life::Ended,
        Err(_) => Life::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_of_a_process_is_known_while_it_runs() {
        let own = std::fs::read_to_string("/proc/self/comm").unwrap();
        let known = program(std::process::id().into());
        assert_eq!(known.as_deref(), Some(own.trim_end()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        // 0 stands for a process in another pid namespace.
        for unseen in [child.id().into(), 0, u64::MAX] {
            assert_eq!(program(unseen), None, "{unseen}");
        }
    }

    #[test]
    fn a_process_that_was_waited_for_counts_as_ended() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        assert!(matches!(life_of(pid), Life::Handle(_)));
        child.wait().unwrap();
        assert!(matches!(life_of(pid), Life::Ended));
        assert!(matches!(life_of(0), Life::Unknown));
    }
}
