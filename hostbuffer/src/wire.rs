//! The messages between the process that leads a host and the others, over a Unix socket.

use crate::error::{Obstacle, Refusal};
use crate::layout::Layout;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;
use tcasm_core::sys::socket;

/// The version of these messages.
pub(crate) const PROTOCOL: u32 = 2;
/// The largest message.
const LARGEST: usize = 64 << 10;

/// The first message of a process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// The sections that the process expects.
    pub layout: Layout,
    /// The process has the buffer, and the process that led before is gone.
    pub member: bool,
}

/// A message of a process to the one that leads.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToLeader {
    Hello(Hello),
    /// The answer to `Propose`: the addresses are reserved, or this is in the way.
    Reserved {
        refusal: Option<Obstacle>,
    },
    /// The answer to `Commit`: the sections are mapped, or this went wrong.
    Mapped {
        refusal: Option<Obstacle>,
    },
    /// Seal a section in all processes.
    Seal {
        section: usize,
    },
    /// The answer to `Sealing`: this process can no longer write the section, or this went wrong.
    SealedHere {
        section: usize,
        refusal: Option<String>,
    },
}

/// A message of the process that leads to another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToMember {
    /// Give up what is reserved, and reserve the buffer at this address.
    Propose { base: u64 },
    /// Map the sections, whose descriptors come with this message.
    Commit,
    /// The buffer belongs to the process.
    Go,
    /// The process does not get the buffer.
    Refuse {
        refusals: Vec<Refusal>,
        text: String,
    },
    /// Make the section read-only.
    Sealing { section: usize },
    /// The section can no longer be changed by anybody.
    Sealed { section: usize },
    /// The section could not be sealed.
    NotSealed { section: usize, why: String },
}

/// Why no message arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The other process has ended, or does not keep to the protocol.
    Gone,
    /// The time was over.
    Late,
}

/// Sends a message with descriptors, at once or not at all.
pub(crate) fn send(to: &OwnedFd, message: &impl Serialize, fds: &[RawFd]) -> Result<(), Lost> {
    let bytes = rmp_serde::to_vec_named(message).map_err(|_| Lost::Gone)?;
    if bytes.len() > LARGEST {
        return Err(Lost::Gone);
    }
    socket::send(to, &bytes, fds).map_err(|_| Lost::Gone)
}

/// Returns the next message, or `None` if none waits. It must have no descriptors.
pub(crate) fn try_receive<M: DeserializeOwned>(from: &OwnedFd) -> Result<Option<M>, Lost> {
    let mut buffer = vec![0; LARGEST];
    match despite_reset(|| socket::receive_plain(from, &mut buffer)) {
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
        Err(_) | Ok(0) => Err(Lost::Gone),
        Ok(n) => decode(&buffer[..n]).map(Some),
    }
}

/// Returns the next message with its descriptors, or `None` if none waits.
pub(crate) fn try_receive_with<M: DeserializeOwned>(
    from: &OwnedFd,
) -> Result<Option<(M, Vec<OwnedFd>)>, Lost> {
    let mut buffer = vec![0; LARGEST];
    match despite_reset(|| socket::receive(from, &mut buffer)) {
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
        Err(_) | Ok((0, _)) => Err(Lost::Gone),
        Ok((n, fds)) => Ok(Some((decode(&buffer[..n])?, fds.into_inner()))),
    }
}

/// Receives again if the other end closed the connection without reading all that it was sent. The
/// kernel reports this once, before what the other end sent last, which may be a refusal.
fn despite_reset<T>(mut receive: impl FnMut() -> nix::Result<T>) -> nix::Result<T> {
    match receive() {
        Err(Errno::ECONNRESET) => receive(),
        received => received,
    }
}

fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, Lost> {
    rmp_serde::from_slice(bytes).map_err(|_| Lost::Gone)
}

/// Decodes bytes as each kind of message of other processes and hosts, for tests with bytes from
/// outside.
#[doc(hidden)]
pub fn decode_any(bytes: &[u8]) {
    let _ = decode::<ToLeader>(bytes);
    let _ = decode::<ToMember>(bytes);
    let _ = decode::<Vec<Refusal>>(bytes);
    crate::tcp::decode_any(bytes);
}

/// Waits until one of the descriptors can be read or has hung up, for at most a minute.
pub(crate) fn wait_any(fds: &[BorrowedFd<'_>], timeout: Duration) {
    let wanted = fds.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
    let mut wanted: Vec<PollFd<'_>> = wanted.collect();
    // Rounded up, because a wait that is a little too short would be repeated many times.
    let ms = timeout.as_micros().div_ceil(1000).min(60_000) as u16;
    // The callers look at all descriptors, and a signal only makes them look once more.
    let _ = poll(&mut wanted, PollTimeout::from(ms));
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

    #[test]
    fn last_message_of_an_end_that_did_not_read_all_is_received() {
        for with_descriptors in [false, true] {
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            let pair = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags);
            let (ours, theirs) = pair.unwrap();
            send(&ours, &"never read", &[]).unwrap();
            send(&theirs, &"refused", &[]).unwrap();
            drop(theirs);
            let received: Option<String> = match with_descriptors {
                false => try_receive(&ours).unwrap(),
                true => try_receive_with(&ours).unwrap().map(|(text, _)| text),
            };
            assert_eq!(received.as_deref(), Some("refused"));
            assert_eq!(try_receive::<String>(&ours), Err(Lost::Gone));
        }
    }

    #[test]
    fn refusals_that_other_hosts_have_made_long_fit_into_a_message() {
        let long = "\u{1f4be}".repeat(100_000);
        let words = (7u64, long.as_str(), long.as_str(), false);
        let bytes = rmp_serde::to_vec(&words).unwrap();
        let refusal: Refusal = decode(&bytes).unwrap();
        let refusals = vec![refusal.shortened(); 16];
        let text = String::new();
        let message = rmp_serde::to_vec_named(&ToMember::Refuse { refusals, text });
        assert!(message.unwrap().len() <= LARGEST);
    }

    #[test]
    fn bytes_that_are_no_message_end_the_connection() {
        let all: [&[u8]; 4] = [&[], &[0xc1], &[0xdf, 0xff, 0xff, 0xff, 0xff], &[0xff; 300]];
        for bytes in all {
            assert!(decode::<ToLeader>(bytes).is_err() && decode::<ToMember>(bytes).is_err());
        }
    }
}
