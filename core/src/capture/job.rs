//! What a sweep saves: pieces of live memory, each the pages of one chunk, and where they go.

use super::newest::Newest;
use crate::fault;
use crate::pagemap::ZERO;
use crate::pageset::{CHUNK_PAGES, CHUNK_WORDS, ChunkBits, PageSet, runs_of};
use crate::planes::{PlaneMemory, Slots};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Which pages are compared with the newest version.
#[derive(Debug)]
pub enum Compare {
    /// All, to say which have changed. All are copied: their chunks go into other planes as a whole.
    All,
    /// These, and those that have not changed are not copied. All others have changed.
    Those(PageSet),
}

/// Pieces to save.
#[derive(Debug)]
pub struct Job {
    /// Live memory.
    pub base: *const u8,
    /// Bytes of a page.
    pub page_size: usize,
    /// The chunk of each piece: at least one, ascending.
    pub chunks: Vec<usize>,
    /// Where the pages go.
    pub slots: Slots,
    /// Those of the slots that have no memory yet.
    pub fresh: Slots,
    /// The memory of the slots.
    pub planes: Arc<[Arc<PlaneMemory>]>,
    /// The newest version, to find out what has changed.
    pub newest: Newest,
    /// What is to be found out.
    pub compare: Compare,
}

// Whoever saves allocates nothing: see the rules of this module's parent.
impl Job {
    /// Where a piece lies.
    pub(super) fn addresses(&self, piece: usize) -> Range<usize> {
        let bytes = CHUNK_PAGES * self.page_size;
        let start = self.base as usize + self.chunks[piece] * bytes;
        start..start + bytes
    }

    /// The piece with `address`, if there is one.
    pub(super) fn piece_at(&self, address: usize) -> Option<usize> {
        let chunk = address.wrapping_sub(self.base as usize) / (CHUNK_PAGES * self.page_size);
        self.chunks.binary_search(&chunk).ok()
    }

    /// Copy what is to be copied of a piece; returns which pages have changed.
    ///
    /// # Safety
    /// Live memory must be there and keep still, and the promises that [`super::Sweep::new`] asks for hold; nobody else may
    /// save the piece.
    pub(super) unsafe fn save(&self, piece: usize) -> io::Result<ChunkBits> {
        fault::pass("saving");
        let (chunk, mut changed) = (self.chunks[piece], ChunkBits::default());
        for (plane, bits) in self.slots.in_chunk(chunk) {
            // SAFETY: the caller's promise.
            let same = unsafe { self.unchanged(chunk, bits)? };
            let differing: ChunkBits = std::array::from_fn(|i| bits[i] & !same[i]);
            let copied = match self.compare {
                Compare::All => bits,
                Compare::Those(_) => &differing,
            };
            let fresh = self.fresh.in_chunk(chunk).any(|(p, _)| p == plane);
            for run in runs_of(copied) {
                let pages = chunk * CHUNK_PAGES + run.start..chunk * CHUNK_PAGES + run.end;
                // SAFETY: the slots are the sweep's alone, and piece by piece one thread's; what is not fresh has memory.
                unsafe { self.planes[plane].copy(self.base, pages, fresh)? };
            }
            changed.iter_mut().zip(differing).for_each(|(c, d)| *c |= d);
        }
        fault::pass("saved");
        Ok(changed)
    }

    /// Those of the pages `bits` of a chunk that are compared, and are what the newest version has. Pages that have changed
    /// mostly differ early: this costs little more than a look.
    ///
    /// # Safety
    /// As for `save`.
    unsafe fn unchanged(&self, chunk: usize, bits: &ChunkBits) -> io::Result<ChunkBits> {
        let maybe: ChunkBits = match &self.compare {
            Compare::All => *bits,
            Compare::Those(pages) => {
                let those = pages.chunk(chunk);
                std::array::from_fn(|i| bits[i] & those[i])
            }
        };
        let mut same = [0; CHUNK_WORDS];
        if maybe == same {
            return Ok(same);
        }
        let before = self.newest.chunk(chunk)?;
        for i in runs_of(&maybe).flatten() {
            let page = chunk * CHUNK_PAGES + i;
            // SAFETY: inside live memory, readable, and kept still.
            let now = unsafe {
                std::slice::from_raw_parts(self.base.add(page * self.page_size), self.page_size)
            };
            let equal = match before.code(i)? {
                ZERO => crate::store::is_zero(now),
                code => {
                    let plane = &self.planes[usize::from(code) - 1];
                    // SAFETY: the newest version refers to the slot, and stays until the sweep has ended.
                    unsafe { plane.page(page) == now }
                }
            };
            same[i / 64] |= u64::from(equal) << (i % 64);
        }
        Ok(same)
    }
}
