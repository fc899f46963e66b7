//! Settings of connections to owners.

use crate::call::call;
use crate::constants::unsigned;
use crate::handles::Handle;
use crate::status::Failure;
use crate::transfers::Peer;
use std::ffi::c_int;
use std::time::Duration;
use tcasm_transfer::Transport;

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

/// Sets an option of a connection: `TCASM_PEER_TRANSPORT` and the like.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_peer_set(peer: Handle<Peer>, option: c_int, value: i64) -> c_int {
    call(|| {
        let peer = peer.get()?;
        match option {
            TCASM_PEER_TRANSPORT => {
                let transport = transport(value)?;
                peer.0.with(|p| p.use_only(transport))
            }
            TCASM_PEER_THREADS => {
                let threads = threads(value)?;
                peer.0.with(|p| p.set_threads(threads))
            }
            TCASM_PEER_TIMEOUT => {
                let timeout = Duration::from_millis(unsigned(value, "TCASM_PEER_TIMEOUT")?);
                peer.0.with(|p| p.set_timeout(timeout))
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
