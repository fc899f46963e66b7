//! Authenticated messages over a TCP connection.
//!
//! Each end begins with [`MAGIC`] and a nonce of 32 bytes. A message is its length in 4 bytes
//! (little-endian), its HMAC in 32, and its MessagePack.

use super::Secret;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The beginning of a connection, with the version of the protocol.
const MAGIC: [u8; 8] = *b"TCASMHB1";
const NONCE: usize = 32;
const MAC: usize = 32;
/// The largest message.
const LARGEST: usize = 1 << 20;
/// The largest message of an end that has not proved yet that it knows the secret.
const LARGEST_FIRST: usize = 4 << 10;

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Host,
    Server,
}

impl Side {
    fn label(self) -> &'static [u8] {
        match self {
            Side::Host => b"host",
            Side::Server => b"server",
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Host => Side::Server,
            Side::Server => Side::Host,
        }
    }
}

/// A connection whose both ends know the secret, once a message has been received.
#[derive(Debug)]
pub(super) struct Channel {
    stream: TcpStream,
    side: Side,
    key: Secret,
    sent: u64,
    received: u64,
}

impl Channel {
    /// Exchanges nonces.
    pub(super) fn open(
        mut stream: TcpStream,
        side: Side,
        secret: &Secret,
        until: Instant,
    ) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let mut mine = [0; NONCE];
        getrandom::fill(&mut mine).map_err(io::Error::other)?;
        write(&mut stream, &[&MAGIC[..], &mine[..]].concat(), until)?;
        let mut begin = [0; MAGIC.len() + NONCE];
        read(&mut stream, &mut begin, until)?;
        let Some(theirs) = begin.strip_prefix(&MAGIC) else {
            return Err(io::Error::other(
                "the other end is no rendezvous of this version",
            ));
        };
        let (host, server) = match side {
            Side::Host => (&mine[..], theirs),
            Side::Server => (theirs, &mine[..]),
        };
        let key = mac(secret.bytes(), &[b"tcasm hostbuffer", host, server]);
        let key = Secret::new(&key.finalize().into_bytes())?;
        Ok(Channel {
            stream,
            side,
            key,
            sent: 0,
            received: 0,
        })
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &impl Serialize, until: Instant) -> io::Result<()> {
        let bytes = rmp_serde::to_vec_named(message).map_err(io::Error::other)?;
        let len = u32::try_from(bytes.len())
            .ok()
            .filter(|n| *n as usize <= LARGEST);
        let len = len.ok_or_else(|| io::Error::other("the message is too long"))?;
        let tag = self.tag(self.side, self.sent, &bytes).finalize();
        let tag = tag.into_bytes().to_vec();
        self.sent += 1;
        let frame = [&len.to_le_bytes()[..], &tag[..], &bytes[..]].concat();
        write(&mut self.stream, &frame, until)
    }

    /// Waits for a message. The error is `UnexpectedEof` if the other end has closed the
    /// connection, `InvalidData` if it does not know the secret, and `TimedOut` if it is silent.
    pub(super) fn receive<M: DeserializeOwned>(&mut self, until: Instant) -> io::Result<M> {
        let mut head = [0; 4 + MAC];
        read(&mut self.stream, &mut head, until)?;
        let (len, tag) = head.split_at(4);
        let len = u32::from_le_bytes(len.try_into().expect("4 bytes")) as usize;
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        if len
            > if self.received == 0 {
                LARGEST_FIRST
            } else {
                LARGEST
            }
        {
            return Err(invalid("a message is too long"));
        }
        let mut bytes = vec![0; len];
        read(&mut self.stream, &mut bytes, until)?;
        let expected = self.tag(self.side.other(), self.received, &bytes);
        expected
            .verify_slice(tag)
            .map_err(|_| invalid("the other end does not know the secret"))?;
        self.received += 1;
        rmp_serde::from_slice(&bytes).map_err(|_| invalid("a message is malformed"))
    }

    /// Returns true if the other end has closed the connection.
    pub(super) fn has_ended(&self) -> bool {
        let mut byte = [0];
        let looked = self.stream.set_nonblocking(true).and_then(|()| {
            let seen = self.stream.peek(&mut byte);
            self.stream.set_nonblocking(false)?;
            seen
        });
        match looked {
            Ok(n) => n == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    fn tag(&self, from: Side, number: u64, bytes: &[u8]) -> Hmac<Sha256> {
        mac(
            self.key.bytes(),
            &[from.label(), &number.to_le_bytes(), bytes],
        )
    }
}

/// Authenticates several texts, each with its length.
fn mac(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may have any length");
    for part in parts {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    }
    mac
}

/// Returns the time that is left.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

fn read(stream: &mut TcpStream, mut buffer: &mut [u8], until: Instant) -> io::Result<()> {
    while !buffer.is_empty() {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => buffer = &mut buffer[n..],
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write(stream: &mut TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns true if the call may be repeated, until the time is over.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
