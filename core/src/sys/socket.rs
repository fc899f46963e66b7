//! SOCK_SEQPACKET sockets, which carry whole messages, with or without descriptors. Only
//! [`wait_readable`] blocks.

use super::closer::Untrusted;
use super::time::deadline;
use crate::testing::sabotage::{Guard, off};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, MsgFlags, Shutdown, SockFlag, SockType, UnixAddr,
    accept4, bind, connect, listen, recvmsg, sendmsg, shutdown, socket,
};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// The largest number of descriptors in one message: those of all planes, the index and the lease.
pub const MAX_FDS: usize = crate::format::layout::MAX_SLOTS + 2;

fn new_socket() -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)
}

/// Listens at `path`, which must not exist. Messages with descriptors are refused if the kernel
/// supports this: see [`refuse_descriptors`].
pub fn listen_at(path: &Path) -> nix::Result<OwnedFd> {
    let socket = new_socket()?;
    let _ = refuse_descriptors(&socket);
    bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    listen(&socket, Backlog::new(64)?)?;
    Ok(socket)
}

/// Makes the kernel refuse messages with descriptors (Linux 6.16). The sender of such a message
/// gets an error, and nothing arrives. For a listener, this holds for the connections that it
/// accepts, from their beginning.
pub fn refuse_descriptors(socket: &OwnedFd) -> nix::Result<()> {
    const SO_PASSRIGHTS: libc::c_int = 83;
    if off(Guard::RefuseDescriptors) {
        return Err(Errno::ENOPROTOOPT);
    }
    let no: libc::c_int = 0;
    // SAFETY: the kernel reads one int, which lives during the call.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const no).cast(),
            size_of_val(&no) as libc::socklen_t,
        )
    };
    Errno::result(set).map(drop)
}

/// Ends a connection. The other end still receives everything that was sent before. The socket
/// stays open.
pub fn hang_up(socket: &OwnedFd) {
    let _ = shutdown(socket.as_raw_fd(), Shutdown::Both);
}

/// Sends nothing more through a connection. The other end reads what was sent before, and then the
/// end. The connection is gone when the other end closes it.
pub fn end_sending(socket: &OwnedFd) {
    let _ = shutdown(socket.as_raw_fd(), Shutdown::Write);
}

/// Connects to `path`. If the backlog of the listener is full, the error is EAGAIN.
pub fn connect_to(path: &Path) -> nix::Result<OwnedFd> {
    let socket = new_socket()?;
    connect(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(socket)
}

/// Accepts one connection, if one waits.
pub fn accept(listener: &OwnedFd) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let fd = accept4(listener.as_raw_fd(), flags)?;
    // SAFETY: accept4 returned a new descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends one message with descriptors, at once or not at all. If the other end does not read, the
/// error is EAGAIN. MSG_DONTWAIT holds for this call, whatever flags the other end has set on the
/// socket.
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

/// Receives one message of at most `buffer.len()` bytes without descriptors, and returns its
/// length. `Ok(0)` is the end of the connection. For a longer message the error is EMSGSIZE.
///
/// For a message with descriptors the error is EBADMSG, and the message stays in the socket. If it
/// were taken out, its descriptors would be closed here, which may block. They are closed with the
/// socket.
pub fn receive_plain(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<usize> {
    peek(socket, buffer)?;
    take(socket, buffer)
}

/// Returns true if no message waits to be read, and the connection has not ended.
pub fn is_quiet(socket: &OwnedFd) -> bool {
    peek(socket, &mut [0; 8]) == Err(Errno::EAGAIN)
}

/// Returns true if the other end has not read everything that was sent, or if that is not known.
pub fn has_unread(socket: &OwnedFd) -> bool {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one int, which lives during the call.
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    asked != 0 || bytes != 0
}

/// Copies the next message to `buffer`, and leaves it in the socket. So its descriptors stay open.
fn peek(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<usize> {
    let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
    let mut parts = [IoSliceMut::new(buffer)];
    let seen = recvmsg::<()>(socket.as_raw_fd(), &mut parts, None, flags)?;
    // This call has no room for descriptors, so MSG_CTRUNC is set if the message has any.
    match seen.flags {
        flags if flags.contains(MsgFlags::MSG_CTRUNC) => Err(Errno::EBADMSG),
        flags if flags.contains(MsgFlags::MSG_TRUNC) => Err(Errno::EMSGSIZE),
        _ => Ok(seen.bytes),
    }
}

/// Takes the next message out of the socket, without its descriptors.
fn take(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<usize> {
    let mut parts = [IoSliceMut::new(buffer)];
    let taken = recvmsg::<()>(socket.as_raw_fd(), &mut parts, None, MsgFlags::MSG_DONTWAIT)?;
    Ok(taken.bytes)
}

/// Receives one message of at most `buffer.len()` bytes with its descriptors, and returns its
/// length. `Ok((0, _))` is the end of the connection. The error is EMSGSIZE if the message is
/// longer, if it has more than [`MAX_FDS`] descriptors, or if this process has no room for its
/// descriptors. Such a message stays in the socket.
///
/// The message is first copied and then taken out of the socket. Otherwise the kernel would close
/// descriptors for which there is no room, here and now, which may block. The returned descriptors
/// may block when they are closed, so the caller checks them before it clears them.
pub fn receive(
    socket: &OwnedFd,
    buffer: &mut [u8],
) -> nix::Result<(usize, Untrusted<Vec<OwnedFd>>)> {
    let mut space = cmsg_space!([RawFd; MAX_FDS]);
    let mut io = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all zeros is a valid header without any part.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut io;
    message.msg_iovlen = 1;
    message.msg_control = space.as_mut_ptr().cast();
    message.msg_controllen = space.capacity() as _;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the header points to the two buffers with their sizes, and both outlive the call.
    let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    let n = Errno::result(n)? as usize;
    // This comes first, because this process must close the descriptors that it got, even if the
    // rest did not fit.
    // SAFETY: recvmsg has just filled the header and the control space, which still exists, and
    // this is the first use of both.
    let mut fds = Untrusted::new(unsafe { descriptors(&message) });
    if fds.is_empty() {
        fds.clear();
    }
    if message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        return Err(Errno::EMSGSIZE);
    }
    take(socket, &mut buffer[..n])?;
    Ok((n, fds))
}

/// Returns the descriptors that came with a message. The `nix` crate is not used for this, because
/// it returns none for a message that was cut short, and then they would never be closed.
///
/// # Safety
/// The header must be as recvmsg left it. Its control space must still exist. This must be called
/// only once for a message, because it takes ownership of the descriptors.
unsafe fn descriptors(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut fds = Vec::new();
    // SAFETY: the kernel wrote the control headers into the space, and CMSG_FIRSTHDR and
    // CMSG_NXTHDR stay inside it. The data of a header are as many descriptors as its length says.
    // They may be unaligned, which `read_unaligned` allows. They are new, and nothing else owns
    // them.
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

/// Waits until `socket` can be read or has hung up. Returns false if `timeout` passed first.
pub fn wait_readable(socket: &impl AsFd, timeout: Duration) -> bool {
    let end = deadline(timeout);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // Rounded up, because a wait that is a little too short would be repeated many times.
        let ms = left.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
        let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        match poll(
            &mut fds,
            PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX),
        ) {
            Ok(n) if n > 0 => return true,
            // A signal that the program handles must not end the wait.
            Ok(_) | Err(Errno::EINTR) if !left.is_zero() => {}
            _ => return false,
        }
    }
}

/// Returns true if the other end of a connection is gone.
pub fn hung_up(socket: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::empty())];
    matches!(poll(&mut fds, PollTimeout::ZERO), Ok(n) if n > 0)
}
