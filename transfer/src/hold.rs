//! Parts of declarations that a peer has resolved once, to read them many times.

use crate::cookie::Cookie;
use crate::error::TransferError;
use crate::layout::Layout;
use crate::local::Local;
use crate::mapped::MemoryFile;
use crate::peer::{Peer, Transport};
use crate::torn::Torn;
use crate::wire::{Span, Status};
use std::borrow::BorrowMut;
use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::sync::Arc;

/// A part of a declaration whose place a peer knows, so that reading it is one copy and no message.
///
/// A revocation waits until this is dropped or the peer is killed, so drop it soon. A cookie for
/// one use counts as used when this is dropped.
#[derive(Debug)]
pub struct Hold<P: BorrowMut<Peer>> {
    /// The connection, until it is given back.
    peer: Option<P>,
    place: Place,
}

/// Where the bytes are.
#[derive(Debug)]
struct Place {
    layout: Layout,
    file: Option<Arc<MemoryFile>>,
    version: u64,
}

impl Peer {
    /// Resolves bytes of a declaration, to read them many times. Fewer are held if they have more
    /// than 64 MiB or 2048 segments. Needs a direct copy, or memory that can be mapped.
    pub fn hold(
        &mut self,
        cookie: Cookie,
        offset: u64,
        len: u64,
    ) -> Result<Hold<&mut Self>, TransferError> {
        let place = self.place(cookie, offset, len)?;
        Ok(Hold::new(self, place))
    }

    /// Does the same as [`hold`](Self::hold) with a connection that the result owns.
    /// [`Hold::release`] gives it back, and so does an error.
    pub fn into_hold(
        mut self: Box<Self>,
        cookie: Cookie,
        offset: u64,
        len: u64,
    ) -> Result<Hold<Box<Self>>, (Box<Self>, TransferError)> {
        match self.place(cookie, offset, len) {
            Ok(place) => Ok(Hold::new(self, place)),
            Err(error) => Err((self, error)),
        }
    }

    fn place(&mut self, cookie: Cookie, offset: u64, len: u64) -> Result<Place, TransferError> {
        let (transport, file) = self.choose(cookie, u64::MAX, false)?;
        if transport == Transport::Ring {
            let why = self.direct().err().unwrap_or("the ring was chosen");
            return Err(TransferError::NotDirect(why.to_owned()));
        }
        let span = Span {
            cookie,
            offset,
            len,
            write: false,
        };
        let reply = self.resolve(span, file.is_some())?;
        let nonsense = |_| TransferError::Nonsense("segments that overlap, or none");
        let layout = Layout::of(reply.segments).map_err(nonsense);
        Ok(Place {
            layout: layout.map_err(|error| self.end(error))?,
            file,
            version: reply.words[1],
        })
    }
}

impl<P: BorrowMut<Peer>> Hold<P> {
    fn new(peer: P, place: Place) -> Self {
        Hold {
            peer: Some(peer),
            place,
        }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.place.layout.len()
    }

    /// Returns false: at least one byte is held.
    pub fn is_empty(&self) -> bool {
        self.place.layout.is_empty()
    }

    /// Returns the number of the version, if nobody writes the memory. All reads are of this one.
    pub fn version(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.place.version)
    }

    /// Reads bytes from `offset` on, counted from the beginning of what is held. If the kernel does
    /// not permit direct copies any more, the error is [`TransferError::NotDirect`]: drop this, and
    /// read by the cookie.
    pub fn read<'a>(
        &mut self,
        offset: u64,
        into: &'a mut [u8],
    ) -> Result<Torn<&'a mut [u8]>, TransferError> {
        let Some(peer) = self.peer.as_mut().map(BorrowMut::borrow_mut) else {
            return Err(TransferError::Ended);
        };
        peer.check()?;
        let len = into.len() as u64;
        let end = offset.checked_add(len);
        if len == 0 || end.is_none_or(|end| end > self.place.layout.len()) {
            return Err(Status::OutOfRange.into());
        }
        let segments = self.place.layout.window(offset, len, usize::MAX);
        let mut buffers = [IoSliceMut::new(into)];
        let mut local = Local::Into(&mut buffers);
        let copied = peer.copy(&mut local, &segments, self.place.file.as_deref());
        peer.still_there()?;
        copied.map(|()| Torn::new(into))
    }

    /// Ends the hold, and returns the connection.
    pub fn release(mut self) -> P {
        self.end().expect("a hold has its connection until it ends")
    }

    fn end(&mut self) -> Option<P> {
        let mut peer = self.peer.take()?;
        // An error says that the connection has ended, and this with it.
        let _ = peer.borrow_mut().end_copy(true);
        Some(peer)
    }
}

impl<P: BorrowMut<Peer>> Drop for Hold<P> {
    fn drop(&mut self) {
        self.end();
    }
}
