//! Connections to owners, their settings, and transfers between one piece of memory and an owner.

use crate::border::{Count, Fill, Growing, List, Out, Plain, Sized, Text};
use crate::call::call;
use crate::constants::unsigned;
use crate::handles::{Handle, give, object};
use crate::status::Failure;
use crate::transfers::{TCASM_READ, TCASM_READ_WRITE, TCASM_WRITE, given, tcasm_cookie};
use crate::waiting::Turns;
use std::ffi::c_int;
use std::io::IoSliceMut;
use std::path::Path;
use std::time::Duration;
use tcasm_transfer::{Access, Consistency, Hold, Transport};

/// The meaning of a cookie. Set `size` to `sizeof(tcasm_declaration)` before the call
/// (`tcasm_declaration d = TCASM_INIT(tcasm_declaration);`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct tcasm_declaration {
    /// The size of this structure in bytes. The caller sets it.
    pub size: usize,
    /// The number of bytes that are declared.
    pub bytes: u64,
    /// The version that they are of, or 0 for live memory.
    pub version: u64,
    /// `TCASM_READ`, `TCASM_WRITE` or `TCASM_READ_WRITE`.
    pub access: c_int,
    /// 1 if the cookie ends after the first complete use.
    pub once: c_int,
}
impl Plain for tcasm_declaration {}
impl Growing for tcasm_declaration {
    const FIRST: usize = 32;
}

/// A connection to an owner.
pub struct Peer(pub(crate) Turns<Connection>);
object!(Peer, "peer", 9);

/// A connection that is free for any transfer, or that holds a part of a declaration.
pub(crate) enum Connection {
    Free(Box<tcasm_transfer::Peer>),
    Holding(Hold<Box<tcasm_transfer::Peer>>),
    /// It is between the two.
    Moving,
}

impl Peer {
    /// Calls `body` with the connection, if it holds nothing.
    pub(crate) fn with<R>(
        &self,
        body: impl FnOnce(&mut tcasm_transfer::Peer) -> R,
    ) -> Result<R, Failure> {
        self.0.with(|connection| match connection {
            Connection::Free(peer) => Ok(body(peer)),
            _ => Err(Failure::argument(
                "the connection holds a part of a declaration; call tcasm_let_go first",
            )),
        })?
    }
}

/// How all transfers are done: `TCASM_TRANSPORT_BEST` and the like [the best for each].
pub const TCASM_PEER_TRANSPORT: c_int = 1;
/// The number of threads that share a direct copy of more than 4 MiB, at most 64 [1].
pub const TCASM_PEER_THREADS: c_int = 2;
/// How long to wait for an answer of the owner, in milliseconds [30000].
pub const TCASM_PEER_TIMEOUT: c_int = 3;

/// The best transport for each transfer.
pub const TCASM_TRANSPORT_BEST: c_int = 0;
/// One copy by the kernel, between the two processes.
pub const TCASM_TRANSPORT_DIRECT: c_int = 1;
/// One copy from the file of shared memory, or to it.
pub const TCASM_TRANSPORT_MAPPED: c_int = 2;
/// Two copies, through a ring.
pub const TCASM_TRANSPORT_RING: c_int = 3;

/// The most threads that a peer may use.
const MOST_THREADS: usize = 64;

/// Connects to the owner at `address`. `tcasm_disconnect` ends the connection.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_connect(address: Text, peer: Out<Handle<Peer>>) -> c_int {
    call(|| {
        let address = Path::new(address.get("the address")?);
        give(&peer, || {
            let connected = tcasm_transfer::Peer::connect(address)?;
            Ok(Peer(Turns::new(Connection::Free(Box::new(connected)))))
        })
    })
}

/// Ends a connection.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_disconnect(peer: Handle<Peer>) -> c_int {
    call(|| {
        peer.remove()?.0.close();
        Ok(())
    })
}

/// Stores the meaning of a cookie.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_describe(
    peer: Handle<Peer>,
    cookie: List<tcasm_cookie>,
    declaration: Sized<tcasm_declaration>,
) -> c_int {
    call(|| {
        let cookie = given(&cookie)?;
        let found = peer.get()?.with(|p| p.describe(cookie))??;
        let told = tcasm_declaration {
            size: size_of::<tcasm_declaration>(),
            bytes: found.len,
            version: found.version.map_or(0, Into::into),
            access: match found.access {
                Access::Read => TCASM_READ,
                Access::Write => TCASM_WRITE,
                Access::ReadWrite => TCASM_READ_WRITE,
            },
            once: found.once.into(),
        };
        declaration.set(&told, "tcasm_declaration")
    })
}

/// Reads `bytes` declared bytes from byte `offset` on. They can be torn if somebody writes them
/// meanwhile, unless they are those of a version, whose number is then stored in `version` (0 for
/// live memory). `version` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_read_declared(
    peer: Handle<Peer>,
    cookie: List<tcasm_cookie>,
    offset: u64,
    to: Fill<u8>,
    bytes: Count,
    version: Out<u64>,
) -> c_int {
    let mut to = to;
    call(|| {
        let cookie = given(&cookie)?;
        let to = to.cleared(&bytes, "the place for the bytes")?;
        let peer = peer.get()?;
        let read = peer.with(|p| p.read_either(cookie, offset, &mut [IoSliceMut::new(to)]))??;
        version.set(number_of(read));
        Ok(())
    })
}

/// Returns the number of the version that was read, or 0.
pub(crate) fn number_of(read: Consistency) -> u64 {
    match read {
        Consistency::Version(number) => number.into(),
        Consistency::MayBeTorn => 0,
    }
}

/// Writes `bytes` bytes to declared memory, from byte `offset` on.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_write_declared(
    peer: Handle<Peer>,
    cookie: List<tcasm_cookie>,
    offset: u64,
    from: List<u8>,
    bytes: Count,
) -> c_int {
    call(|| {
        let cookie = given(&cookie)?;
        let from = from.get(&bytes, "the bytes")?;
        Ok(peer.get()?.with(|p| p.write(cookie, offset, from))??)
    })
}

/// Sets an option of a connection: `TCASM_PEER_TRANSPORT` and the like.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_peer_set(peer: Handle<Peer>, option: c_int, value: i64) -> c_int {
    call(|| {
        let peer = peer.get()?;
        match option {
            TCASM_PEER_TRANSPORT => {
                let transport = transport(value)?;
                peer.with(|p| p.use_only(transport))
            }
            TCASM_PEER_THREADS => {
                let threads = threads(value)?;
                peer.with(|p| p.set_threads(threads))
            }
            TCASM_PEER_TIMEOUT => {
                let timeout = Duration::from_millis(unsigned(value, "TCASM_PEER_TIMEOUT")?);
                peer.with(|p| p.set_timeout(timeout))
            }
            _ => Err(Failure::argument(format!(
                "{option} is no option of a connection"
            ))),
        }
    })
}

fn threads(value: i64) -> Result<usize, Failure> {
    match unsigned(value, "TCASM_PEER_THREADS")? {
        threads @ 1..=MOST_THREADS => Ok(threads),
        _ => Err(Failure::argument(format!(
            "TCASM_PEER_THREADS is {value}, and must be 1 to {MOST_THREADS}"
        ))),
    }
}

fn transport(value: i64) -> Result<Option<Transport>, Failure> {
    match c_int::try_from(value) {
        Ok(TCASM_TRANSPORT_BEST) => Ok(None),
        Ok(TCASM_TRANSPORT_DIRECT) => Ok(Some(Transport::Direct)),
        Ok(TCASM_TRANSPORT_MAPPED) => Ok(Some(Transport::Mapped)),
        Ok(TCASM_TRANSPORT_RING) => Ok(Some(Transport::Ring)),
        _ => Err(Failure::argument(format!(
            "TCASM_PEER_TRANSPORT cannot be {value}"
        ))),
    }
}
