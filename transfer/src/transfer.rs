//! Reading and writing by cookie.

use crate::cookie::Cookie;
use crate::error::TransferError;
use crate::image::Missed;
use crate::local::Local;
use crate::mapped::MemoryFile;
use crate::peer::{Peer, Transport};
use crate::reach::forbidden;
use crate::segment::{Segment, sum};
use crate::torn::{Consistency, Torn};
use crate::wire::{Reply, Request, SLOT_BYTES, SLOTS, Span, Status};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::num::NonZeroU64;

impl Peer {
    /// Reads bytes of a declaration from `offset` on, as many as the buffer has. After an error the
    /// buffer may have any bytes.
    pub fn read<'a>(
        &mut self,
        cookie: Cookie,
        offset: u64,
        into: &'a mut [u8],
    ) -> Result<Torn<&'a mut [u8]>, TransferError> {
        let mut buffers = [IoSliceMut::new(into)];
        self.transfer(cookie, offset, &mut Local::Into(&mut buffers))?;
        Ok(Torn::new(into))
    }

    /// Reads bytes of a declaration into several buffers, one after another.
    pub fn read_vectored<'a, 'b>(
        &mut self,
        cookie: Cookie,
        offset: u64,
        into: &'a mut [IoSliceMut<'b>],
    ) -> Result<Torn<&'a mut [IoSliceMut<'b>]>, TransferError> {
        let buffers = into.iter_mut().map(|buffer| IoSliceMut::new(buffer));
        let mut buffers: Vec<IoSliceMut<'_>> = buffers.collect();
        self.transfer(cookie, offset, &mut Local::Into(&mut buffers))?;
        Ok(Torn::new(into))
    }

    /// Writes `from` to a declaration from `offset` on. After an error any part of it may be
    /// written.
    pub fn write(&mut self, cookie: Cookie, offset: u64, from: &[u8]) -> Result<(), TransferError> {
        self.write_vectored(cookie, offset, &[IoSlice::new(from)])
    }

    /// Writes several buffers, one after another.
    pub fn write_vectored(
        &mut self,
        cookie: Cookie,
        offset: u64,
        from: &[IoSlice<'_>],
    ) -> Result<(), TransferError> {
        let mut buffers: Vec<IoSlice<'_>> = from.to_vec();
        self.transfer(cookie, offset, &mut Local::From(&mut buffers))
            .map(drop)
    }

    /// Reads bytes of a version ([`Declaration::version`](crate::Declaration::version)), all of
    /// the same one, and returns its number. Its owner may set newer ones meanwhile.
    pub fn read_version(
        &mut self,
        cookie: Cookie,
        offset: u64,
        into: &mut [u8],
    ) -> Result<NonZeroU64, TransferError> {
        let mut buffers = [IoSliceMut::new(into)];
        let version = self.transfer(cookie, offset, &mut Local::Into(&mut buffers))?;
        NonZeroU64::new(version).ok_or(TransferError::Refused(Status::Live))
    }

    /// Reads bytes of a declaration into several buffers, one after another, for programs that do
    /// not know whether the cookie stands for live memory or for a version. The result says it.
    pub fn read_either(
        &mut self,
        cookie: Cookie,
        offset: u64,
        into: &mut [IoSliceMut<'_>],
    ) -> Result<Consistency, TransferError> {
        let buffers = into.iter_mut().map(|buffer| IoSliceMut::new(buffer));
        let mut buffers: Vec<IoSliceMut<'_>> = buffers.collect();
        let version = self.transfer(cookie, offset, &mut Local::Into(&mut buffers))?;
        Ok(NonZeroU64::new(version).map_or(Consistency::MayBeTorn, Consistency::Version))
    }

    /// Transfers all bytes of the buffers. Returns the number of their version, or 0.
    fn transfer(
        &mut self,
        cookie: Cookie,
        offset: u64,
        local: &mut Local<'_, '_>,
    ) -> Result<u64, TransferError> {
        let mut span = Span {
            cookie,
            offset,
            len: local.len(),
            write: local.writes(),
        };
        if offset.checked_add(span.len).is_none() || span.len == 0 {
            return Err(Status::OutOfRange.into());
        }
        let (all, mut version) = (span.len, None);
        while span.len > 0 {
            let (transport, file) = self.choose(cookie, all, span.write)?;
            let done = match transport {
                Transport::Ring => self.by_ring(span, local, &mut version),
                _ => self.by_window(span, local, file.as_deref(), &mut version),
            };
            let bytes = done.inspect_err(|error| {
                if let TransferError::Refused(Status::Revoked | Status::Used) = error {
                    self.forget(cookie);
                }
            })?;
            span.offset += bytes;
            span.len -= bytes;
        }
        Ok(version.unwrap_or(0))
    }

    /// Transfers a window: asks for the addresses, copies, and reports the end. Returns the number
    /// of bytes. This is 0 if the kernel does not permit direct copies any more: then another
    /// transport goes on at the same byte.
    fn by_window(
        &mut self,
        span: Span,
        local: &mut Local<'_, '_>,
        file: Option<&MemoryFile>,
        version: &mut Option<u64>,
    ) -> Result<u64, TransferError> {
        let Reply {
            words, segments, ..
        } = self.resolve(span, file.is_some())?;
        self.same(version, words[1])?;
        let copied = self.copy(local, &segments, file);
        if self.check().is_ok() {
            self.end_copy(copied.is_ok())?;
        }
        match copied {
            Ok(()) => Ok(sum(&segments).unwrap_or(0)),
            Err(TransferError::NotDirect(_)) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Checks that all parts of a transfer are of one version.
    fn same(&mut self, version: &mut Option<u64>, part: u64) -> Result<(), TransferError> {
        match version.get_or_insert(part) {
            version if *version == part => Ok(()),
            _ => Err(self.end(TransferError::Nonsense("parts of two versions"))),
        }
    }

    /// Copies a window, directly or by the file of the memory. If the kernel does not permit direct
    /// copies any more, notes that.
    pub(crate) fn copy(
        &mut self,
        local: &mut Local<'_, '_>,
        segments: &[Segment],
        file: Option<&MemoryFile>,
    ) -> Result<(), TransferError> {
        if let Some(file) = file {
            return segments.iter().try_for_each(|segment| {
                let range = file.range(*segment).map_err(|error| self.end(error))?;
                let copied = local.file(&file.file, range.start as u64, range.len());
                copied.map_err(TransferError::Copy)
            });
        }
        let image = self.image.as_ref();
        let image = image.map_err(|why| TransferError::NotDirect(why.clone()))?;
        match local.direct(image, segments, self.threads) {
            Ok(()) => Ok(()),
            Err(Missed::Gone) => Err(self.end(TransferError::OwnerGone)),
            Err(Missed::Unreadable) => Err(Status::Unreadable.into()),
            Err(Missed::Failed(error)) => Err(TransferError::Copy(error.into())),
            Err(Missed::Forbidden(error)) => {
                let why = forbidden(error);
                self.image = Err(why.clone());
                Err(TransferError::NotDirect(why))
            }
        }
    }

    /// Transfers through the ring. The owner fills or empties slots while this peer does the same
    /// with others. Returns the number of bytes, which are all.
    fn by_ring(
        &mut self,
        span: Span,
        local: &mut Local<'_, '_>,
        version: &mut Option<u64>,
    ) -> Result<u64, TransferError> {
        let ring = self.ring()?;
        let (mut asked, mut refused) = (0, None);
        let mut flying = VecDeque::new();
        loop {
            while refused.is_none() && asked < span.len && flying.len() < SLOTS as usize {
                let len = SLOT_BYTES.min(span.len - asked);
                let slot = asked / SLOT_BYTES % SLOTS;
                if span.write {
                    self.slot(&ring, slot, len, local)?;
                }
                let span = Span {
                    offset: span.offset + asked,
                    len: span.len - asked,
                    ..span
                };
                self.send(Request::Block { span, slot })?;
                flying.push_back((slot, len));
                asked += len;
            }
            let Some((slot, len)) = flying.pop_front() else {
                return refused.map_or(Ok(span.len), Err);
            };
            match self.receive() {
                Err(TransferError::Refused(status)) => {
                    refused.get_or_insert(TransferError::Refused(status));
                }
                Err(error) => return Err(error),
                Ok(reply) if reply.words[0] != len => {
                    return Err(self.end(TransferError::Nonsense("another number of bytes")));
                }
                Ok(reply) => {
                    self.same(version, reply.words[1])?;
                    if !span.write && refused.is_none() {
                        self.slot(&ring, slot, len, local)?;
                    }
                }
            }
        }
    }

    /// Copies between the buffers and a slot of the ring.
    fn slot(
        &mut self,
        ring: &File,
        slot: u64,
        len: u64,
        local: &mut Local<'_, '_>,
    ) -> Result<(), TransferError> {
        let copied = local.file(ring, slot * SLOT_BYTES, len as usize);
        // Replies are still to come, which nobody would read.
        copied.map_err(|error| self.end(TransferError::Copy(error)))
    }
}
