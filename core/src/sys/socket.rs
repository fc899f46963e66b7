//! SOCK_SEQPACKET sockets: whole messages, with descriptors. Nothing here blocks unless it says so.

use super::time::deadline;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr, accept4, bind,
    connect, listen, sendmsg, socket,
};
use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Most descriptors in one message: all planes, the index and the lease.
pub const MAX_FDS: usize = crate::layout::MAX_SLOTS + 2;

fn new_socket() -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)
}

/// Listen at `path`, which must not exist.
pub fn listen_at(path: &Path) -> nix::Result<OwnedFd> {
    let socket = new_socket()?;
    bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    listen(&socket, Backlog::new(64)?)?;
    Ok(socket)
}

/// Connect to `path`. A full backlog is EAGAIN.
pub fn connect_to(path: &Path) -> nix::Result<OwnedFd> {
    let socket = new_socket()?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(socket)
}

/// Accept one connection, if one waits.
pub fn accept(listener: &OwnedFd) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = accept4(listener.as_raw_fd(), flags)?;
    // SAFETY: accept returned a new descriptor, ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Send one message with descriptors, at once or not at all: EAGAIN when the other end does not read. MSG_DONTWAIT is per
/// call, and so holds whatever the other end did to the socket's flags.
pub fn send(socket: &OwnedFd, bytes: &[u8], fds: &[RawFd]) -> nix::Result<()> {
    let rights = [ControlMessage::ScmRights(fds)];
    let control: &[ControlMessage<'_>] = if fds.is_empty() { &[] } else { &rights };
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    sendmsg::<UnixAddr>(
        socket.as_raw_fd(),
        &[IoSlice::new(bytes)],
        control,
        flags,
        None,
    )
    .map(|_| ())
}

/// Receive one message of at most `buffer.len()` bytes. `Ok(0, _)` is the end of the connection. A longer message,
/// more descriptors than [`MAX_FDS`] and descriptors for which this process has no room are EMSGSIZE.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<(usize, Vec<OwnedFd>)> {
    let mut space = cmsg_space!([RawFd; MAX_FDS]);
    let mut io = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all zeros is a header without any part.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut io;
    message.msg_iovlen = 1;
    message.msg_control = space.as_mut_ptr().cast();
    message.msg_controllen = space.capacity() as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the header points at the two buffers with their sizes, and both outlive the call.
    let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    let n = Errno::result(n)? as usize;
    // First of all: whatever was installed is ours to close, also when the rest did not fit.
    // SAFETY: the kernel has just filled the header and the space that it points at.
    let fds = unsafe { descriptors(&message) };
    if message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        return Err(Errno::EMSGSIZE);
    }
    Ok((n, fds))
}

/// The descriptors that came with a message. (By hand: nix gives none of those of a message that was cut short, and
/// then nobody would ever close them.)
///
/// # Safety
/// The header must be as recvmsg left it, its control space still there, and this its first use.
unsafe fn descriptors(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut fds = Vec::new();
    // SAFETY: headers are those that the kernel wrote into the space; the two macros stay inside of it; the data of
    // each are as many descriptors as its length says, possibly unaligned, new and nobody else's.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if ((*header).cmsg_level, (*header).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let bytes =
                    ((*header).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                let count = bytes / size_of::<RawFd>();
                fds.extend((0..count).map(|i| OwnedFd::from_raw_fd(data.add(i).read_unaligned())));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    fds
}

/// Wait until `socket` can be read or has hung up; false when `timeout` passed before.
pub fn wait_readable(socket: &impl AsFd, timeout: Duration) -> bool {
    let end = deadline(timeout);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // Rounded up: a wait that is a little too short would be done again and again.
        let ms = left.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
        let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        match poll(
            &mut fds,
            PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX),
        ) {
            Ok(n) if n > 0 => return true,
            // A signal that the program handles ends no wait.
            Ok(_) | Err(Errno::EINTR) if !left.is_zero() => {}
            _ => return false,
        }
    }
}

/// Whether the other end of a connection is gone.
pub fn hung_up(socket: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::empty())];
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(n) if n > 0)
}
