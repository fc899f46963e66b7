//! Parts of declarations that a peer has resolved once, to read them many times.

use crate::cookie::Cookie;
use crate::error::TransferError;
use crate::layout::Layout;
use crate::local::Local;
use crate::mapped::MemoryFile;
use crate::peer::{Peer, Transport};
use crate::torn::Torn;
use crate::wire::{Span, Status};
use std::io::IoSliceMut;
use std::num::NonZeroU64;
use std::sync::Arc;

/// A part of a declaration whose place a peer knows, so that reading it is one copy and no message.
///
/// A revocation waits until this is dropped or the peer is killed, so drop it soon. A cookie for
/// one use counts as used when this is dropped.
#[derive(Debug)]
pub struct Hold<'p> {
    peer: &'p mut Peer,
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
    ) -> Result<Hold<'_>, TransferError> {
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
        Ok(Hold {
            layout: layout.map_err(|error| self.end(error))?,
            peer: self,
            file,
            version: reply.words[1],
        })
    }
}

impl Hold<'_> {
    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        self.layout.len()
    }

    /// Returns false: at least one byte is held.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Returns the number of the version, if nobody writes the memory. All reads are of this one.
    pub fn version(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.version)
    }

    /// Reads bytes from `offset` on, counted from the beginning of what is held. If the kernel does
    /// not permit direct copies any more, the error is [`TransferError::NotDirect`]: drop this, and
    /// read by the cookie.
    pub fn read<'a>(
        &mut self,
        offset: u64,
        into: &'a mut [u8],
    ) -> Result<Torn<&'a mut [u8]>, TransferError> {
        self.peer.check()?;
        let len = into.len() as u64;
        let end = offset.checked_add(len);
        if len == 0 || end.is_none_or(|end| end > self.len()) {
            return Err(Status::OutOfRange.into());
        }
        let segments = self.layout.window(offset, len, usize::MAX);
        let mut buffers = [IoSliceMut::new(into)];
        let mut local = Local::Into(&mut buffers);
        let copied = self.peer.copy(&mut local, &segments, self.file.as_deref());
        self.peer.still_there()?;
        copied.map(|()| Torn::new(into))
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        // An error says that the connection has ended, and this with it.
        let _ = self.peer.end_copy(true);
    }
}
