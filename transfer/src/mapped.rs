//! Memory of an owner, mapped by a peer.

use crate::error::TransferError;
use crate::segment::Segment;
use crate::shared::atomic_bytes;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::slice;
use std::sync::atomic::Ordering;
use tcasm_core::sys::mem::Mapping;

/// The file of a declaration in shared memory.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    pub(crate) file: File,
    pub(crate) len: usize,
    /// The segments, as ranges of the file, or none if there are too many for one reply.
    parts: Vec<Range<usize>>,
}

impl MemoryFile {
    /// Returns true if the owner has told where the segments are.
    pub(crate) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Checks what an owner has sent: a sealed file of `len` bytes, and segments in it.
    pub(crate) fn new(fd: OwnedFd, len: u64, segments: &[Segment]) -> Result<Self, TransferError> {
        let long = |_| TransferError::Nonsense("a file with more bytes than addresses");
        let mut file = MemoryFile {
            file: File::from(fd),
            len: usize::try_from(len).map_err(long)?,
            parts: Vec::new(),
        };
        let parts = segments.iter().map(|segment| file.range(*segment));
        file.parts = parts.collect::<Result<_, _>>()?;
        Ok(file)
    }

    /// Returns a segment as a range of the file.
    pub(crate) fn range(&self, segment: Segment) -> Result<Range<usize>, TransferError> {
        let range = segment.end().map(|end| segment.addr..end);
        range
            .filter(|range| range.end <= self.len)
            .ok_or(TransferError::Nonsense("a segment outside of its file"))
    }
}

/// Memory of an owner, mapped for reading. It stays when the cookie is revoked and when the owner
/// ends.
#[derive(Debug)]
pub struct Mapped {
    mapping: Mapping,
    parts: Vec<Range<usize>>,
}

impl Mapped {
    pub(crate) fn new(file: &MemoryFile) -> Result<Self, TransferError> {
        let mapping = Mapping::shared(file.file.as_fd(), file.len, false)?;
        Ok(Mapped {
            mapping,
            parts: file.parts.clone(),
        })
    }

    /// Returns the number of bytes of the declaration.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Range::len).sum()
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Loads `N` bytes from `at` on, for example of a number, or returns `None` if they are beyond
    /// the end. They may be torn.
    pub fn load<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        at.checked_add(N)?;
        let (mut bytes, mut done, mut before) = ([0; N], 0, 0usize);
        for part in &self.parts {
            while done < N && at + done < before + part.len() {
                let place = part.start + (at + done - before);
                let byte = atomic_bytes(&self.mapping, place, 1)?.first()?;
                bytes[done] = byte.load(Ordering::Relaxed);
                done += 1;
            }
            before += part.len();
        }
        (done == N).then_some(bytes)
    }

    /// Returns where the segments are mapped in this process, in order. The addresses are for
    /// reading, and valid as long as this value lives. The owner and peers can write there.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = Segment> {
        self.parts.iter().map(|part| Segment {
            addr: self.mapping.addr() + part.start,
            len: part.len(),
        })
    }

    /// Returns the segments, to compute with them in place.
    ///
    /// # Safety
    /// Nobody may write the memory as long as the slices are used: not the owner, and no peer.
    #[allow(unsafe_code)]
    pub unsafe fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(|part| {
            // SAFETY: the part lies inside the mapping, as `MemoryFile::range` has checked, whose
            // object is sealed against shrinking, so it is readable. The mapping lives as long as
            // the slice. By the caller's promise nobody writes it.
            unsafe { slice::from_raw_parts(self.mapping.ptr().add(part.start), part.len()) }
        })
    }
}
