//! Authenticated messages over a TCP connection.
//!
//! Each end begins with [`MAGIC`] and a nonce of 32 bytes. A message is its length in 4 bytes
//! (little-endian), its HMAC in 32, and its MessagePack.

use super::{Secret, loss};
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// The beginning of a connection, with the version of the protocol.
const MAGIC: [u8; 8] = *b"TCASMHB1";
const NONCE: usize = 32;
const MAC: usize = 32;
/// The bytes that are read at once, so that a length that lies takes no memory.
const PIECE: usize = 64 << 10;
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

    /// Returns the size of the largest message of this end. The server's has those of all hosts.
    fn largest(self) -> usize {
        match self {
            Side::Host => 64 << 10,
            Side::Server => 32 << 20,
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
        loss::notice(&stream)?;
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
        let key = key(secret, host, server)?;
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
        let frame = self.frame(message)?;
        write(&mut self.stream, &frame, until)
    }

    /// Returns the bytes of the next message.
    fn frame(&mut self, message: &impl Serialize) -> io::Result<Vec<u8>> {
        let bytes = rmp_serde::to_vec_named(message).map_err(io::Error::other)?;
        let (len, most) = (bytes.len(), self.side.largest());
        if len > most {
            let why = format!("a message of {len} bytes is too long (limit {most})");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let len = len as u32;
        let tag = self.tag(self.side, self.sent, &bytes).finalize();
        let tag = tag.into_bytes().to_vec();
        self.sent += 1;
        Ok([&len.to_le_bytes()[..], &tag[..], &bytes[..]].concat())
    }

    /// Waits for a message. The error is `UnexpectedEof` if the other end has closed the
    /// connection, `InvalidData` if it does not know the secret, and `TimedOut` if it is silent.
    pub(super) fn receive<M: DeserializeOwned>(&mut self, until: Instant) -> io::Result<M> {
        let mut head = [0; 4 + MAC];
        read(&mut self.stream, &mut head, until)?;
        let (len, tag) = head.split_at(4);
        let len = u32::from_le_bytes(len.try_into().expect("4 bytes")) as usize;
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let largest = match self.received {
            0 => LARGEST_FIRST,
            _ => self.side.other().largest(),
        };
        if len > largest {
            return Err(invalid("a message is too long"));
        }
        let mut bytes = Vec::new();
        while bytes.len() < len {
            let at = bytes.len();
            bytes.resize(len.min(at + PIECE), 0);
            read(&mut self.stream, &mut bytes[at..], until)?;
        }
        let expected = self.tag(self.side.other(), self.received, &bytes);
        expected
            .verify_slice(tag)
            .map_err(|_| invalid("the other end does not know the secret"))?;
        self.received += 1;
        rmp_serde::from_slice(&bytes).map_err(|_| invalid("a message is malformed"))
    }

    /// Returns true if the other end has closed the connection, or has sent something, which it
    /// must not do now.
    pub(super) fn has_ended(&self) -> bool {
        let mut byte = [0];
        let looked = self.stream.set_nonblocking(true).and_then(|()| {
            let seen = self.stream.peek(&mut byte);
            self.stream.set_nonblocking(false)?;
            seen
        });
        !matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    fn tag(&self, from: Side, number: u64, bytes: &[u8]) -> Hmac<Sha256> {
        mac(
            self.key.bytes(),
            &[from.label(), &number.to_le_bytes(), bytes],
        )
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // A forked child may hold the connection open.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Returns the key of a connection. Both nonces are in it, so that nobody can repeat a connection
/// with either end.
fn key(secret: &Secret, host: &[u8], server: &[u8]) -> io::Result<Secret> {
    let key = mac(secret.bytes(), &[b"tcasm hostbuffer", host, server]);
    Secret::new(&key.finalize().into_bytes())
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
            Err(error) => return Err(loss::explained(error)),
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
            Err(error) => return Err(loss::explained(error)),
        }
    }
    Ok(())
}

/// Returns true if the call may be repeated, until the time is over. At the end of its time, a call
/// returns `WouldBlock`. `TimedOut` means that the connection is lost.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), Interrupted | WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const TEXT: &str = "a message";

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    /// Returns the ends of a connection.
    fn pair(host_secret: &[u8; 16], server_secret: &[u8; 16]) -> (Channel, Channel) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let secret = Secret::new(host_secret).unwrap();
        let host = move || Channel::open(stream, Side::Host, &secret, soon()).unwrap();
        let host = std::thread::spawn(host);
        let (stream, _) = listener.accept().unwrap();
        let secret = Secret::new(server_secret).unwrap();
        let server = Channel::open(stream, Side::Server, &secret, soon()).unwrap();
        (host.join().unwrap(), server)
    }

    fn same() -> (Channel, Channel) {
        pair(b"0123456789abcdef", b"0123456789abcdef")
    }

    /// Gives bytes to `server` as if the other end had sent them. Returns what it receives.
    fn give(
        host: &mut Channel,
        server: &mut Channel,
        bytes: &[u8],
    ) -> Result<String, io::ErrorKind> {
        write(&mut host.stream, bytes, soon()).unwrap();
        server.receive(soon()).map_err(|error| error.kind())
    }

    #[test]
    fn message_is_received_once_and_unchanged() {
        let (mut host, mut server) = same();
        let frame = host.frame(&TEXT).unwrap();
        assert_eq!(
            give(&mut host, &mut server, &frame).as_deref(),
            Ok(TEXT),
            "sent once"
        );
        let again = give(&mut host, &mut server, &frame);
        assert_eq!(again, Err(io::ErrorKind::InvalidData), "sent again");
        for bit in [4 * 8, (4 + MAC) * 8] {
            let (mut host, mut server) = same();
            let mut frame = host.frame(&TEXT).unwrap();
            frame[bit / 8] ^= 1 << (bit % 8);
            let changed = give(&mut host, &mut server, &frame);
            assert_eq!(changed, Err(io::ErrorKind::InvalidData), "bit {bit}");
        }
    }

    #[test]
    fn message_of_another_end_connection_or_secret_is_refused() {
        let refused = Err(io::ErrorKind::InvalidData);
        let (mut host, mut server) = same();
        let own = server.frame(&TEXT).unwrap();
        assert_eq!(give(&mut host, &mut server, &own), refused);
        let (mut host, mut server) = same();
        let old = same().0.frame(&TEXT).unwrap();
        assert_eq!(give(&mut host, &mut server, &old), refused);
        let (mut host, mut server) = pair(b"0123456789abcdeX", b"0123456789abcdef");
        let frame = host.frame(&TEXT).unwrap();
        assert_eq!(give(&mut host, &mut server, &frame), refused);
    }

    #[test]
    fn key_depends_on_the_secret_and_both_nonces() {
        let key = |secret: &[u8], host: &[u8], server: &[u8]| {
            let secret = Secret::new(secret).unwrap();
            key(&secret, host, server).unwrap().bytes().to_vec()
        };
        let first = key(&[1; 16], &[2; NONCE], &[3; NONCE]);
        assert_ne!(first, key(&[9; 16], &[2; NONCE], &[3; NONCE]));
        assert_ne!(first, key(&[1; 16], &[9; NONCE], &[3; NONCE]));
        assert_ne!(first, key(&[1; 16], &[2; NONCE], &[9; NONCE]));
    }

    #[test]
    fn length_that_lies_is_refused_before_memory_is_taken() {
        for len in [u32::MAX, LARGEST_FIRST as u32 + 1] {
            let (mut host, mut server) = same();
            let head = [&len.to_le_bytes()[..], &[0; MAC]].concat();
            // If the server waited for the bytes, it would run into the end of the time.
            let lie = give(&mut host, &mut server, &head);
            assert_eq!(lie, Err(io::ErrorKind::InvalidData), "{len}");
        }
        let (mut host, mut server) = same();
        let frame = host.frame(&TEXT).unwrap();
        write(&mut host.stream, &frame[..frame.len() - 1], soon()).unwrap();
        drop(host);
        let cut = server.receive::<String>(soon()).unwrap_err().kind();
        assert_eq!(cut, io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn message_of_all_hosts_may_be_longer_than_that_of_one() {
        let (mut host, mut server) = same();
        let long = "x".repeat(Side::Host.largest());
        let refused = host.send(&long, soon()).unwrap_err().kind();
        assert_eq!(refused, io::ErrorKind::InvalidInput);
        host.send(&TEXT, soon()).unwrap();
        assert_eq!(server.receive::<String>(soon()).unwrap(), TEXT);
        server.send(&TEXT, soon()).unwrap();
        assert_eq!(host.receive::<String>(soon()).unwrap(), TEXT);
        let sender = std::thread::spawn(move || server.send(&long, soon()).map(|()| long));
        let received = host.receive::<String>(soon()).unwrap();
        assert_eq!(received, sender.join().unwrap().unwrap());
    }

    #[test]
    fn secret_and_key_are_not_shown() {
        let (host, _server) = same();
        let shown = format!("{host:?}");
        assert!(shown.contains("key: Secret(..)"), "{shown}");
    }
}
