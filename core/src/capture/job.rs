//! The job of a sweep: pieces of live memory, each the pages of one chunk, and the frames that they
//! are saved to.

use super::newest::Newest;
use crate::format::pagemap::{Code, ZERO, is_zero};
use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS, ChunkBits, PageSet, runs_of};
use crate::planes::{Frames, Node, PlaneMemory};
use crate::segments::Segments;
use crate::sys::copy::Stores;
use crate::testing::fault;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The pages that are compared with the newest version.
#[derive(Debug)]
pub enum Compare {
    /// All pages are compared, to find out which have changed, and all are copied. Their chunks go
    /// into other planes as a whole.
    All,
    /// Only these pages are compared, and copied if they have changed. All others have changed.
    Those(PageSet),
    /// These pages are compared, and none is copied.
    Only(PageSet),
}

/// The pieces to save, and where to save them.
#[derive(Debug)]
pub struct Job {
    /// Where the pages of live memory are. Pieces behind the gate lie in the region itself.
    pub memory: Arc<Segments>,
    /// The chunk of each piece. There is at least one. First come the pieces of live memory, then
    /// those that are copied from the newest version, both in ascending order.
    pub chunks: Vec<usize>,
    /// The number of pieces of live memory.
    pub live: usize,
    /// The node of memory of each piece. Empty on a machine with one node, and where nodes are not
    /// known.
    pub nodes: Vec<Node>,
    /// The frames that the pages are saved to.
    pub frames: Frames,
    /// The part of the frames that has no memory yet.
    pub fresh: Frames,
    /// The memory of the frames.
    pub planes: Arc<[Arc<PlaneMemory>]>,
    /// The newest version, which the pages are compared with.
    pub newest: Newest,
    /// The pages that are compared.
    pub compare: Compare,
    /// How the pages are stored.
    pub stores: Stores,
    /// True if frames may consist of huge pages.
    pub huge_pages: bool,
}

// No function that saves may allocate: see rule 4 of the parent module.
impl Job {
    /// Returns the addresses of a piece.
    pub(super) fn addresses(&self, piece: usize) -> Range<usize> {
        let bytes = CHUNK_PAGES * self.memory.page_size();
        let start = self.memory.base() + self.chunks[piece] * bytes;
        start..start + bytes
    }

    /// Returns true if a piece is copied from the newest version.
    pub(super) fn is_assembled(&self, piece: usize) -> bool {
        piece >= self.live
    }

    /// Returns the piece of live memory that has `address`, if there is one.
    pub(super) fn piece_at(&self, address: usize) -> Option<usize> {
        let bytes = CHUNK_PAGES * self.memory.page_size();
        let chunk = address.wrapping_sub(self.memory.base()) / bytes;
        self.chunks[..self.live].binary_search(&chunk).ok()
    }

    /// Copies the pages of a piece. Returns which of them have changed.
    ///
    /// # Safety
    /// Live memory must be mapped, and nobody may write it. The promises that [`super::Sweep::new`]
    /// asks for must hold. Nobody else may save the piece.
    pub(super) unsafe fn save(&self, piece: usize) -> io::Result<ChunkBits> {
        let chunk = self.chunks[piece];
        if let Compare::Only(pages) = &self.compare {
            // SAFETY: the caller keeps the promises of `save`, which are the same.
            return unsafe { self.changed(chunk, pages.chunk(chunk)) };
        }
        fault::pass("saving");
        let changed = match self.is_assembled(piece) {
            true => self.assemble(chunk).map(|()| ChunkBits::default())?,
            // SAFETY: as above.
            false => unsafe { self.save_live(chunk)? },
        };
        fault::pass("saved");
        Ok(changed)
    }

    /// Copies the pages of a piece of live memory. Returns which of them have changed.
    ///
    /// # Safety
    /// As for [`Job::save`].
    unsafe fn save_live(&self, chunk: usize) -> io::Result<ChunkBits> {
        let mut changed = ChunkBits::default();
        for (plane, bits) in self.frames.in_chunk(chunk) {
            let fresh = self.take_whole_chunk(chunk, plane)?;
            for block in blocks(bits) {
                // SAFETY: the caller keeps the promises of `save`, which are the same.
                let differing = unsafe { self.changed(chunk, &block)? };
                let copied = match self.compare {
                    Compare::All => block,
                    Compare::Those(_) | Compare::Only(_) => differing,
                };
                // SAFETY: as above.
                unsafe { self.copy(chunk, plane, &copied, fresh)? };
                changed.iter_mut().zip(differing).for_each(|(c, d)| *c |= d);
            }
        }
        Ok(changed)
    }

    /// Takes memory for the frames of a chunk in a plane, if none has any and all are copied to.
    /// Returns true if some frames have none afterwards.
    fn take_whole_chunk(&self, chunk: usize, plane: usize) -> io::Result<bool> {
        let mut fresh = self.fresh.in_chunk(chunk).filter(|(p, _)| *p == plane);
        let Some((_, bits)) = fresh.next() else {
            return Ok(false);
        };
        let copies_all = match &self.compare {
            Compare::All => true,
            Compare::Those(pages) => *pages.chunk(chunk) == ChunkBits::default(),
            Compare::Only(_) => false,
        };
        if !self.huge_pages || *bits != [!0; CHUNK_WORDS] || !copies_all {
            return Ok(true);
        }
        self.planes[plane].allocate_for_copy(chunk).map(|()| false)
    }

    /// Returns those of the pages `bits` of a chunk that have changed: those that are not compared,
    /// and those that differ from the newest version.
    ///
    /// # Safety
    /// As for [`Job::save`].
    unsafe fn changed(&self, chunk: usize, bits: &ChunkBits) -> io::Result<ChunkBits> {
        // SAFETY: the caller keeps the promises of `save`, which are the same.
        let same = unsafe { self.unchanged(chunk, bits)? };
        Ok(std::array::from_fn(|i| bits[i] & !same[i]))
    }

    /// Copies the pages `bits` of a chunk to frames of a plane.
    ///
    /// # Safety
    /// As for [`Job::save`].
    unsafe fn copy(
        &self,
        chunk: usize,
        plane: usize,
        bits: &ChunkBits,
        fresh: bool,
    ) -> io::Result<()> {
        for run in runs_of(bits) {
            let pages = chunk * CHUNK_PAGES + run.start..chunk * CHUNK_PAGES + run.end;
            // SAFETY: the frames belong to this sweep alone, and those of a piece to this thread
            // alone. Frames that are not fresh have memory. The caller promises that nobody writes
            // live memory.
            unsafe { self.planes[plane].copy(&self.memory, pages, fresh, self.stores)? };
        }
        Ok(())
    }

    /// Copies pages of a chunk from the newest version.
    fn assemble(&self, chunk: usize) -> io::Result<()> {
        let before = self.newest.chunk(chunk)?;
        for (to, bits) in self.frames.in_chunk(chunk) {
            let fresh = self.fresh.in_chunk(chunk).any(|(p, _)| p == to);
            for run in runs_of(bits) {
                let mut rest = run;
                while !rest.is_empty() {
                    let code = before.code(rest.start)?;
                    let mut end = rest.start + 1;
                    while end < rest.end && before.code(end)? == code {
                        end += 1;
                    }
                    let pages = chunk * CHUNK_PAGES + rest.start..chunk * CHUNK_PAGES + end;
                    self.copy_frames(code, to, pages, fresh)?;
                    rest.start = end;
                }
            }
        }
        Ok(())
    }

    /// Copies `pages` of the newest version, which have this code there, to plane `to`.
    fn copy_frames(
        &self,
        code: Code,
        to: usize,
        pages: Range<usize>,
        fresh: bool,
    ) -> io::Result<()> {
        let Some(from) = usize::from(code).checked_sub(1) else {
            return Err(io::Error::other("a page to copy is in no plane"));
        };
        // SAFETY: the newest version refers to the frames that are read. It stays until the sweep
        // has ended, so nobody writes them, and they have memory. The other frames belong to this
        // sweep alone, and those of a piece to this thread alone. Frames that are not fresh have
        // memory.
        unsafe { self.planes[to].copy_frames(&self.planes[from], pages, fresh, self.stores) }
    }

    /// Returns those of the pages `bits` of a chunk that are compared and equal to the newest
    /// version. Pages that have changed mostly differ early, so comparing them costs little.
    ///
    /// # Safety
    /// As for [`Job::save`].
    unsafe fn unchanged(&self, chunk: usize, bits: &ChunkBits) -> io::Result<ChunkBits> {
        let maybe: ChunkBits = match &self.compare {
            Compare::All => *bits,
            Compare::Those(pages) | Compare::Only(pages) => {
                let those = pages.chunk(chunk);
                std::array::from_fn(|i| bits[i] & those[i])
            }
        };
        let mut same = [0; CHUNK_WORDS];
        if maybe == same {
            return Ok(same);
        }
        let before = self.newest.chunk(chunk)?;
        let first = chunk * CHUNK_PAGES;
        for run in runs_of(&maybe) {
            let mut compare = |page: usize, now: &[u8]| {
                let i = page - first;
                let equal = match before.code(i)? {
                    ZERO => is_zero(now),
                    code => {
                        let plane = &self.planes[usize::from(code) - 1];
                        // SAFETY: the newest version refers to the frame, and stays until the sweep
                        // has ended.
                        unsafe { plane.page(page) == now }
                    }
                };
                same[i / 64] |= u64::from(equal) << (i % 64);
                Ok(())
            };
            let pages = first + run.start..first + run.end;
            // SAFETY: the caller promises that the pages are readable and that nobody writes them.
            unsafe { self.memory.look_at(&pages, &mut compare)? };
        }
        Ok(same)
    }
}

/// Splits the pages of a chunk into blocks. A block is compared, then copied, while the cache still
/// has it.
fn blocks(bits: &ChunkBits) -> impl Iterator<Item = ChunkBits> {
    let block = |word| std::array::from_fn(|i| if i == word { bits[i] } else { 0 });
    (0..CHUNK_WORDS)
        .map(block)
        .filter(|block| *block != [0; CHUNK_WORDS])
}
