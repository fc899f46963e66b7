//! The buffers of a peer, and copies between them and the memory of the owner.

use crate::image::{Image, Missed};
use crate::segment::{Segment, sum};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::unix::fs::FileExt;
use tcasm_core::sys::thread::without_file_size_signal;

/// The rest of the buffers of a peer.
#[derive(Debug)]
pub(crate) enum Local<'a, 'b> {
    /// The peer reads into them.
    Into(&'a mut [IoSliceMut<'b>]),
    /// The peer writes them to the owner.
    From(&'a mut [IoSlice<'b>]),
}

impl Local<'_, '_> {
    /// Returns true if the peer writes to the owner.
    pub(crate) fn writes(&self) -> bool {
        matches!(self, Local::From(_))
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Local::Into(buffers) => buffers.iter().map(|b| b.len() as u64).sum(),
            Local::From(buffers) => buffers.iter().map(|b| b.len() as u64).sum(),
        }
    }

    /// Removes the first bytes, and empty buffers before the next one.
    fn skip(&mut self, bytes: usize) {
        match self {
            Local::Into(buffers) => IoSliceMut::advance_slices(buffers, bytes),
            Local::From(buffers) => IoSlice::advance_slices(buffers, bytes),
        }
    }

    /// Copies directly between the buffers and segments of an owner, which have no more bytes than
    /// the buffers. After an error the buffers begin where they did, so the copy can be repeated.
    #[allow(unsafe_code)]
    pub(crate) fn direct(
        &mut self,
        image: &Image,
        segments: &[Segment],
        threads: usize,
    ) -> Result<(), Missed> {
        let bytes = sum(segments).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.ok_or(Missed::Unreadable)?;
        let ranges = self.ranges(bytes);
        // SAFETY: the ranges are parts of buffers of bytes that `self` borrows during the call,
        // mutably if they are written.
        unsafe { image.copy(self.writes(), &ranges, segments, threads) }?;
        self.skip(bytes);
        Ok(())
    }

    /// Returns where the next bytes are.
    fn ranges(&mut self, bytes: usize) -> Vec<Segment> {
        match self {
            Local::Into(buffers) => first(buffers.iter_mut().map(|b| Segment::of_mut(b)), bytes),
            Local::From(buffers) => first(buffers.iter().map(|b| Segment::of(b)), bytes),
        }
    }

    /// Copies `len` bytes between the buffers and a file at `at`.
    pub(crate) fn file(&mut self, file: &File, mut at: u64, mut len: usize) -> io::Result<()> {
        while len > 0 {
            self.skip(0);
            let bytes = match self {
                Local::Into(buffers) => {
                    let first = buffers.first_mut().ok_or(io::ErrorKind::WriteZero)?;
                    let bytes = first.len().min(len);
                    file.read_exact_at(&mut first[..bytes], at)?;
                    bytes
                }
                Local::From(buffers) => {
                    let first = buffers.first().ok_or(io::ErrorKind::UnexpectedEof)?;
                    let bytes = first.len().min(len);
                    without_file_size_signal(|| file.write_all_at(&first[..bytes], at))?;
                    bytes
                }
            };
            self.skip(bytes);
            at += bytes as u64;
            len -= bytes;
        }
        Ok(())
    }
}

/// Returns the first `bytes` bytes of ranges. Empty ones are left out.
fn first(ranges: impl Iterator<Item = Segment>, mut bytes: usize) -> Vec<Segment> {
    let mut list = Vec::new();
    for Segment { addr, len } in ranges {
        if bytes == 0 {
            break;
        }
        let len = len.min(bytes);
        bytes -= len;
        if len > 0 {
            list.push(Segment { addr, len });
        }
    }
    list
}
