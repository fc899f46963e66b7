//! Observers that break every rule: connections that send anything, and leases with false pins.

use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tcasm_core::format::lease::Lease;
use tcasm_core::format::wire;
use tcasm_core::sys::socket;

/// The longest time that an honest producer may take to answer or to close the connection.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A raw connection to a region's socket, on which a test can send anything.
#[derive(Debug)]
pub struct HostileClient {
    /// The connection.
    pub socket: OwnedFd,
}

/// The lease and the descriptors that an attach yields.
#[derive(Debug)]
pub struct Attachment {
    /// The mapped lease.
    pub lease: Lease,
    /// The descriptors of the lease, the index and the planes.
    pub objects: Vec<OwnedFd>,
}

/// Returns the path of the socket of region `name` in `dir`.
pub fn socket_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.sock"))
}

impl HostileClient {
    /// Connects to the region `name`, whose socket lies in `dir`.
    pub fn connect(dir: &Path, name: &str) -> HostileClient {
        let path = socket_path(dir, name);
        let socket = crate::child::poll_until("a connection", || match socket::connect_to(&path) {
            Err(Errno::EAGAIN) => None, // the backlog is full for the moment
            result => Some(result.expect("the region's socket accepts connections")),
        });
        HostileClient { socket }
    }

    /// Sends bytes and descriptors. Returns true if the kernel accepted them.
    pub fn send(&self, bytes: &[u8], descriptors: &[RawFd]) -> bool {
        socket::send(&self.socket, bytes, descriptors).is_ok()
    }

    /// Sends bytes with descriptors, or without them if the kernel refuses them. Returns true if
    /// the kernel accepted the bytes.
    pub fn say_anyhow(&self, bytes: &[u8], descriptors: &[RawFd]) -> bool {
        self.send(bytes, descriptors) || self.send(bytes, &[])
    }

    /// Attaches as an honest observer does.
    pub fn attach(&self) -> Attachment {
        assert!(self.send(&wire::hello(), &[]));
        assert!(
            socket::wait_readable(&self.socket, TIMEOUT),
            "no answer to a greeting"
        );
        let mut buffer = [0; 64];
        let (n, objects) = socket::receive(&self.socket, &mut buffer).expect("an answer");
        let answer = wire::decode_answer(&buffer[..n]).and_then(|(_, answer)| answer);
        assert_eq!(answer, Some(wire::Answer::Welcome));
        let lease = Lease::open(objects[0].as_fd()).expect("a lease");
        let objects = objects.into_inner();
        Attachment { lease, objects }
    }

    /// Waits until the producer has ended the connection. Messages that arrive before are dropped.
    pub fn is_hung_up_on(&self) -> bool {
        let mut buffer = vec![0; wire::REPLY_BYTES];
        while socket::wait_readable(&self.socket, TIMEOUT) {
            match socket::receive(&self.socket, &mut buffer) {
                Ok((0, _)) | Err(Errno::ECONNRESET) => return true,
                Ok(_) | Err(Errno::EAGAIN | Errno::EMSGSIZE) => {}
                Err(error) => panic!("{error}"),
            }
        }
        false
    }
}

/// A socket whose last close blocks for ten minutes, or until the other end is dropped.
#[derive(Debug)]
pub struct Lingering {
    /// The socket.
    pub socket: TcpStream,
    /// The other end, which never reads.
    pub other: TcpStream,
}

impl Lingering {
    /// Connects to itself, and sends more than the other end has room for.
    pub fn new() -> Lingering {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("an address");
        let mut socket = TcpStream::connect(address).expect("a connection");
        let (other, _) = listener.accept().expect("the other end");
        socket.set_nonblocking(true).expect("a mode of a socket");
        while socket.write(&[1; 1 << 16]).is_ok() {}
        let lingering = Lingering { socket, other };
        lingering.linger(true);
        lingering
    }

    /// Sets whether the last close of the socket waits for the other end.
    fn linger(&self, on: bool) {
        let linger = libc::linger {
            l_onoff: on.into(),
            l_linger: 600,
        };
        setsockopt(&self.socket, sockopt::Linger, &linger).expect("an option of TCP");
    }

    /// Sends the socket through `client`, `times` times in one message, and drops it here.
    /// Returns the other end, and true if the kernel accepted the message (it may refuse
    /// descriptors that the receiver does not want). The receiver must be stopped. Otherwise it may
    /// close its descriptors first, and then the last close happens here.
    pub fn send(self, client: &HostileClient, bytes: &[u8], times: usize) -> (TcpStream, bool) {
        use std::os::fd::AsRawFd;
        let taken = client.send(bytes, &vec![self.socket.as_raw_fd(); times]);
        if !taken {
            // Then the last close happens here, and must not block.
            self.linger(false);
        }
        (self.other, taken)
    }
}

impl Default for Lingering {
    fn default() -> Self {
        Self::new()
    }
}
