//! Other processes: who they are and whether they live. Never by pid alone: a pid is reused.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// A peer at the other end of a Unix socket.
#[derive(Debug)]
pub struct Peer {
    /// Its process id, as the kernel told at the time of connecting (0: from another pid namespace).
    pub pid: i32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    life: Life,
}

/// What is known of whether a process lives.
#[derive(Debug)]
enum Life {
    /// A handle of the process tells.
    Handle(OwnedFd),
    /// It was gone when it was asked for.
    Ended,
    /// Nothing: another pid namespace, or a kernel without handles. Only the hang-up of the connection tells.
    Unknown,
}

impl Peer {
    /// Who is at the other end of `socket`.
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

    /// A descriptor that becomes readable when the process ends, if there is one.
    pub fn handle(&self) -> Option<BorrowedFd<'_>> {
        match &self.life {
            Life::Handle(handle) => Some(handle.as_fd()),
            Life::Ended | Life::Unknown => None,
        }
    }

    /// Whether the process still runs, as far as can be known.
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

/// A process handle straight from the socket (Linux 6.5): free of any race with pid reuse.
fn peer_handle(socket: &impl AsFd) -> Option<OwnedFd> {
    const SO_PEERPIDFD: libc::c_int = 77;
    let (mut fd, mut len): (libc::c_int, libc::socklen_t) = (-1, 4);
    // SAFETY: the kernel writes one int to `fd` and its size to `len`.
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
    // SAFETY: on success the descriptor is new, and ours alone.
    (result == 0 && fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// By pid, for older kernels: asked at connecting time, when the pid is hardly reused yet.
fn life_of(pid: i32) -> Life {
    if pid <= 0 {
        return Life::Unknown;
    }
    // SAFETY: pidfd_open takes two integers.
    match Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) }) {
        // SAFETY: the descriptor is new, and ours alone.
        Ok(fd) => Life::Handle(unsafe { OwnedFd::from_raw_fd(fd as i32) }),
        Err(Errno::ESRCH) => Life::Ended,
        Err(_) => Life::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_was_waited_for_is_known_to_have_ended() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        assert!(matches!(life_of(pid), Life::Handle(_)));
        child.wait().unwrap();
        assert!(matches!(life_of(pid), Life::Ended));
        assert!(matches!(life_of(0), Life::Unknown));
    }
}
