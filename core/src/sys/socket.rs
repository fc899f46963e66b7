//! SOCK_SEQPACKET sockets: whole messages, with descriptors. Nothing here blocks unless it says so.

use super::closer::Suspect;
use super::time::deadline;
use crate::sabotage::{Guard, off};
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

/// Most descriptors in one message: all planes, the index and the lease.
pub const MAX_FDS: usize = crate::layout::MAX_SLOTS + 2;

fn new_socket() -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)
}

/// Listen at `path`, which must not exist. Descriptors are refused where the kernel can: [`refuse_descriptors`].
pub fn listen_at(path: &Path) -> nix::Result<OwnedFd> {
    let socket = new_socket()?;
    let _ = refuse_descriptors(&socket);
    bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    listen(&socket, Backlog::new(64)?)?;
    Ok(socket)
}

/// Has the kernel refuse messages with descriptors (Linux 6.16): whoever sends one gets an error, and nothing arrives. What
/// a listener refuses, the connections that it accepts refuse from their beginning.
pub fn refuse_descriptors(socket: &OwnedFd) -> nix::Result<()> {
    const SO_PASSRIGHTS: libc::c_int = 83;
    if off(Guard::RefuseDescriptors) {
        return Err(Errno::ENOPROTOOPT);
    }
    let no: libc::c_int = 0;
    // SAFETY: the kernel reads one int.
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

/// Ends a connection for the other end, which sees all that was sent before. The socket stays open.
pub fn hang_up(socket: &OwnedFd) {
    let _ = shutdown(socket.as_raw_fd(), Shutdown::Both);
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

/// Receives one message of at most `buffer.len()` bytes that comes without descriptors. `Ok(0)` is the end of the
/// connection. A longer message is EMSGSIZE.
///
/// A message with descriptors is EBADMSG, and stays in the socket: taken out, its descriptors would be closed here, which
/// may block. They are closed with the socket.
pub fn receive_plain(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<usize> {
    look(socket, buffer)?;
    take(socket, buffer)
}

/// Returns true if nothing waits to be read, and the other end is there.
pub fn is_quiet(socket: &OwnedFd) -> bool {
    look(socket, &mut [0; 8]) == Err(Errno::EAGAIN)
}

/// Looks at the next message. The descriptors that came with it stay open, as the message stays where it is.
fn look(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<usize> {
    let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
    let mut parts = [IoSliceMut::new(buffer)];
    let seen = recvmsg::<()>(socket.as_raw_fd(), &mut parts, None, flags)?;
    // There is no room for descriptors, so any at all are cut off.
    match seen.flags {
        flags if flags.contains(MsgFlags::MSG_CTRUNC) => Err(Errno::EBADMSG),
        flags if flags.contains(MsgFlags::MSG_TRUNC) => Err(Errno::EMSGSIZE),
        _ => Ok(seen.bytes),
    }
}

/// Takes the next message, without descriptors that came with it.
fn take(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<usize> {
    let mut parts = [IoSliceMut::new(buffer)];
    let taken = recvmsg::<()>(socket.as_raw_fd(), &mut parts, None, MsgFlags::MSG_DONTWAIT)?;
    Ok(taken.bytes)
}

/// Receive one message of at most `buffer.len()` bytes with its descriptors. `Ok(0, _)` is the end of the connection. A longer
/// message, more descriptors than [`MAX_FDS`] and descriptors for which this process has no room are EMSGSIZE; such a
/// message stays in the socket.
///
/// It is looked at first and taken then: descriptors for which there is no room would be closed by the kernel, here, if
/// they were not in the socket any more. What is returned is suspected of blocking when it is closed, until it was checked.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<(usize, Suspect<Vec<OwnedFd>>)> {
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
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the header points at the two buffers with their sizes, and both outlive the call.
    let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    let n = Errno::result(n)? as usize;
    // First of all: whatever was installed is ours to close, also when the rest did not fit.
    // SAFETY: the kernel has just filled the header and the space that it points at.
    let mut fds = Suspect::new(unsafe { descriptors(&message) });
    if fds.is_empty() {
        fds.clear();
    }
    if message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        return Err(Errno::EMSGSIZE);
    }
    take(socket, &mut buffer[..n])?;
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
