//! Parts of declarations that a peer holds, to read them many times by one copy each.

use crate::border::{Count, Fill, List, Out};
use crate::call::call;
use crate::handles::Handle;
use crate::status::Failure;
use crate::transfers::{given, tcasm_cookie};
use crate::transfers_peer::{Connection, Peer};
use std::ffi::c_int;

/// Finds `bytes` declared bytes from byte `offset` on, so that `tcasm_read_held` reads them by one
/// copy and without a message. Stores in `held` how many are held: fewer than `bytes` if they have
/// more than 64 MiB or 2048 pieces. Needs a direct copy, or shared memory. Until `tcasm_let_go` the
/// connection does nothing else, and the owner cannot revoke the cookie.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_hold(
    peer: Handle<Peer>,
    cookie: List<tcasm_cookie>,
    offset: u64,
    bytes: u64,
    held: Out<u64>,
) -> c_int {
    call(|| {
        let cookie = given(&cookie)?;
        let len = peer.get()?.0.with(|connection| {
            let free = match std::mem::replace(connection, Connection::Moving) {
                Connection::Free(peer) => peer,
                other => {
                    *connection = other;
                    return Err(Failure::argument("the connection holds a part already"));
                }
            };
            let (next, result) = match free.into_hold(cookie, offset, bytes) {
                Ok(hold) => {
                    let len = hold.len();
                    (Connection::Holding(hold), Ok(len))
                }
                Err((peer, error)) => (Connection::Free(peer), Err(error)),
            };
            *connection = next;
            Ok(result?)
        })??;
        held.set(len);
        Ok(())
    })
}

/// Reads `bytes` bytes from byte `offset` on of what the connection holds. They can be torn if
/// somebody writes them meanwhile, unless they are those of a version, whose number is then stored
/// in `version` (0 for live memory). `version` may be null.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_read_held(
    peer: Handle<Peer>,
    offset: u64,
    to: Fill<u8>,
    bytes: Count,
    version: Out<u64>,
) -> c_int {
    let mut to = to;
    call(|| {
        let to = to.cleared(&bytes, "the place for the bytes")?;
        let number = peer.get()?.0.with(|connection| {
            let Connection::Holding(hold) = connection else {
                return Err(Failure::argument("the connection holds nothing"));
            };
            // The version says whether they can be torn.
            let _ = hold.read(offset, to)?.may_be_torn();
            Ok(hold.version().map_or(0, Into::into))
        })??;
        version.set(number);
        Ok(())
    })
}

/// Ends what the connection holds, so that the cookie can be revoked. Does nothing if it holds
/// nothing.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_let_go(peer: Handle<Peer>) -> c_int {
    call(|| {
        peer.get()?.0.with(|connection| {
            *connection = match std::mem::replace(connection, Connection::Moving) {
                Connection::Holding(hold) => Connection::Free(hold.release()),
                other => other,
            };
        })
    })
}
