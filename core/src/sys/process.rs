//! Other processes: who they are and whether they live. Never by pid alone: a pid is reused.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// A peer at the other end of a Unix socket.
#[derive(Debug)]
pub struct Peer {
    /// Its process id, as the kernel told at the time of connecting (0: from another pid namespace).
    pub pid: i32,
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    handle: Option<OwnedFd>,
}

impl Peer {
    /// Who is at the other end of `socket`.
    pub fn of(socket: &impl AsFd) -> nix::Result<Self> {
        let cred = getsockopt(&socket.as_fd(), sockopt::PeerCredentials)?;
        let handle = peer_handle(socket).or_else(|| handle_of(cred.pid()));
        Ok(Peer {
            pid: cred.pid(),
            uid: cred.uid(),
            gid: cred.gid(),
            handle,
        })
    }

    /// Whether the process still runs. Without a handle (another pid namespace, an old kernel) this says true, and only
    /// the hang-up of the connection tells.
    pub fn alive(&self) -> bool {
        let Some(handle) = &self.handle else {
            return true;
        };
        let mut fds = [PollFd::new(handle.as_fd(), PollFlags::POLLIN)];
        !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(n) if n > 0)
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

/// A process handle by pid, for older kernels: opened at connecting time, when the pid is hardly reused yet.
fn handle_of(pid: i32) -> Option<OwnedFd> {
    // SAFETY: pidfd_open takes two integers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: on success the descriptor is new, and ours alone.
    Errno::result(fd)
        .ok()
        .map(|fd| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
