//! Transfers between declared memory and several pieces of memory here, and lists of pieces.

use crate::border::{Count, Fill, List, Out, filled, taken};
use crate::call::call;
use crate::handles::Handle;
use crate::status::Failure;
use crate::transfers::{array_layout, given, tcasm_cookie, tcasm_segment, wrong};
use crate::transfers_peer::{Peer, number_of};
use std::ffi::{c_int, c_void};
use tcasm_transfer::{Layout, Segment};

/// Reads declared bytes from byte `offset` on into `count` pieces of memory, one after another. The
/// pieces must not overlap. `version` is that of `tcasm_read_declared`.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_read_vectored(
    peer: Handle<Peer>,
    cookie: List<tcasm_cookie>,
    offset: u64,
    to: List<tcasm_segment>,
    count: Count,
    version: Out<u64>,
) -> c_int {
    call(|| {
        let cookie = given(&cookie)?;
        let to = pieces(&to, &count)?;
        // Refuses pieces that overlap.
        Layout::new(to.iter().copied()).map_err(wrong)?;
        let peer = peer.get()?;
        let read = peer.with(|p| filled(&to, |to| p.read_either(cookie, offset, to)))??;
        version.set(number_of(read));
        Ok(())
    })
}

/// Writes `count` pieces of memory, one after another, to declared memory from byte `offset` on.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_write_vectored(
    peer: Handle<Peer>,
    cookie: List<tcasm_cookie>,
    offset: u64,
    from: List<tcasm_segment>,
    count: Count,
) -> c_int {
    call(|| {
        let cookie = given(&cookie)?;
        let from = pieces(&from, &count)?;
        let peer = peer.get()?;
        Ok(peer.with(|p| taken(&from, |from| p.write_vectored(cookie, offset, from)))??)
    })
}

/// Stores the pieces of memory that a part of an array consists of, in the order of its indices:
/// as many as there is room for. `pieces` is the number of all. The other arguments are those of
/// `tcasm_declare_array`. The result is for all functions that take pieces.
#[unsafe(no_mangle)]
pub extern "C" fn tcasm_array_segments(
    data: *mut c_void,
    element: usize,
    rank: Count,
    shape: List<usize>,
    strides: List<i64>,
    segments: Fill<tcasm_segment>,
    room: Count,
    pieces: Out<usize>,
) -> c_int {
    call(|| {
        let layout = array_layout(data, element, &rank, &shape, &strides)?;
        let all = layout.segments().iter().copied();
        let all: Vec<_> = all.map(tcasm_segment::from).collect();
        pieces.set(segments.set(&room, &all, "the place for the segments")?);
        Ok(())
    })
}

/// Returns the pieces that have bytes.
fn pieces(list: &List<tcasm_segment>, count: &Count) -> Result<Vec<Segment>, Failure> {
    let listed = list.get(count, "the list of pieces")?.iter();
    let listed = listed.map(|piece| Segment::from(*piece)).enumerate();
    let mut pieces = Vec::new();
    for (i, piece) in listed.filter(|(_, piece)| piece.len > 0) {
        let end = piece.addr.checked_add(piece.len);
        if piece.addr == 0 || end.is_none_or(|end| isize::try_from(end).is_err()) {
            let Segment { addr, len } = piece;
            let text = format!("piece {i}, {len} bytes at {addr:#x}, cannot be memory");
            return Err(Failure::argument(text));
        }
        pieces.push(piece);
    }
    match pieces.is_empty() {
        true => Err(Failure::argument("the pieces have no bytes")),
        false => Ok(pieces),
    }
}
