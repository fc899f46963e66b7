//! Copies pages from plane to plane, for compaction.

use super::frames::Frames;
use super::memory::PlaneMemory;
use super::plane::Planes;
use crate::format::pagemap::Run;
use crate::pageset::ChunkBits;
use std::io;
use std::sync::Arc;

/// Pages to copy from plane to plane.
#[derive(Debug)]
pub struct Gather {
    moves: Vec<Move>,
    memory: Arc<[Arc<PlaneMemory>]>,
}

/// A run of pages in one plane, and the plane to copy them to.
pub type Move = (Run, usize);

impl Gather {
    /// Copies the pages. After an error some of them were copied.
    pub fn copy(&self) -> io::Result<()> {
        for (run, to) in &self.moves {
            if let Some(from) = run.plane() {
                // SAFETY: `Planes::gather` has made the target frames busy for this batch alone, so
                // nobody else uses them.
                unsafe { self.memory[*to].copy_from(&self.memory[from], &run.pages)? };
            }
            crate::testing::fault::pass("gathering");
        }
        Ok(())
    }
}

impl Planes {
    /// Returns those of the pages `want` whose frames in `plane` are free.
    pub fn free_in(&self, plane: usize, chunk: usize, want: &ChunkBits) -> ChunkBits {
        self.planes[plane].free(chunk, want)
    }

    /// Returns the frames that the pages of `moves` are copied to.
    pub fn targets(&self, moves: &[Move]) -> Frames {
        let mut frames = Frames::default();
        for (run, to) in moves {
            frames.insert_range(*to, run.pages.clone(), self.pages());
        }
        frames
    }

    /// Takes the frames that `moves` go to, which must be free. They are busy and held from now on,
    /// for the caller alone.
    pub fn gather(&mut self, moves: Vec<Move>) -> Gather {
        let frames = self.targets(&moves);
        self.hold(&frames);
        self.set_busy(&frames);
        Gather {
            moves,
            memory: self.memory(),
        }
    }
}
