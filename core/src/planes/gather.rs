//! Slots that get copies of pages of other planes.

use super::{PlaneMemory, Planes, Slots};
use crate::pagemap::Run;
use crate::pageset::ChunkBits;
use std::io;
use std::sync::Arc;

/// Pages that are to be copied from plane to plane.
#[derive(Debug)]
pub struct Gather {
    moves: Vec<Move>,
    memory: Arc<[Arc<PlaneMemory>]>,
}

/// A run of pages in one plane, and the plane that they go to.
pub type Move = (Run, usize);

impl Gather {
    /// Copy them. Where that fails, some were.
    pub fn copy(&self) -> io::Result<()> {
        for (run, to) in &self.moves {
            if let Some(from) = run.plane() {
                // SAFETY: the targets are busy for this batch alone since `Planes::gather`.
                unsafe { self.memory[*to].copy_from(&self.memory[from], &run.pages)? };
            }
            crate::fault::pass("gathering");
        }
        Ok(())
    }
}

impl Planes {
    /// Those of `want` whose slots in `plane` are free.
    pub fn free_in(&self, plane: usize, chunk: usize, want: &ChunkBits) -> ChunkBits {
        self.planes[plane].free(chunk, want)
    }

    /// Where the pages of `moves` go.
    pub fn targets(&self, moves: &[Move]) -> Slots {
        let mut slots = Slots::default();
        for (run, to) in moves {
            slots.insert_range(*to, run.pages.clone(), self.pages());
        }
        slots
    }

    /// Take the slots that `moves` go to, which are free: they are busy and held from now on, and nobody's but whoever copies.
    pub fn gather(&mut self, moves: Vec<Move>) -> Gather {
        let slots = self.targets(&moves);
        self.hold(&slots);
        self.set_busy(&slots);
        Gather {
            moves,
            memory: self.memory(),
        }
    }
}
