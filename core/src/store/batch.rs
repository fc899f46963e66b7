//! The pages that compaction copies at the moment.

use crate::pageset::{ChunkSet, PageSet};
use crate::planes::Frames;
use std::collections::BTreeMap;
use std::ops::Range;

/// The state of compaction: the current batch, and where to go on.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    pub(super) batch: Option<Batch>,
    /// The chunk to look at next.
    pub(super) next: usize,
    /// The plane that each chunk is shared with, or was. `None`: sharing failed, and the plane is
    /// not known.
    pub(super) targets: BTreeMap<usize, Option<usize>>,
}

/// Pages that are copied together, and the frames that they are copied to.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) frames: Frames,
    pub(super) state: State,
    /// Pages that changed while the batch was being copied.
    pub(super) changed: PageSet,
}

/// How far a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The frames are being written.
    Copying,
    /// The frames hold what the newest version has of these pages.
    Ready,
    /// A version that is not visible yet refers to the frames.
    Used,
}

impl Compaction {
    fn is(&self, state: State) -> bool {
        self.batch.as_ref().is_some_and(|b| b.state == state)
    }

    /// Returns true if the frames of a batch are being written.
    pub(super) fn copying(&self) -> bool {
        self.is(State::Copying)
    }

    /// Returns the frames that the next version will refer to, and their chunks.
    pub(super) fn ready(&self) -> Option<(&Frames, ChunkSet)> {
        let batch = self.batch.as_ref().filter(|b| b.state == State::Ready)?;
        let chunks = batch.frames.iter().map(|(_, pages)| pages.chunk_numbers());
        let all = chunks.reduce(|mut all, chunks| {
            all.union(&chunks);
            all
        });
        Some((&batch.frames, all?))
    }

    /// Records that a version was written that refers to the batch that was ready.
    pub(super) fn begin_use(&mut self) {
        if let Some(batch) = self.batch.as_mut().filter(|b| b.state == State::Ready) {
            batch.state = State::Used;
        }
    }

    /// Records that this version is visible, or was given up. If it was given up, the next version
    /// can use the batch, because the newest version is still the same.
    pub(super) fn end_use(&mut self, visible: bool) {
        if let Some(mut batch) = self.batch.take_if(|b| b.state == State::Used)
            && !visible
        {
            batch.state = State::Ready;
            self.batch = Some(batch);
        }
    }

    /// Returns, as a set of bits, the planes in which a batch has the frame of `page`.
    pub(super) fn planes_of(&self, page: usize) -> u64 {
        let frames = self.batch.iter().flat_map(|b| b.frames.iter());
        let mine = frames.filter(|(_, pages)| pages.contains(page));
        mine.fold(0, |planes, (plane, _)| planes | 1 << plane)
    }

    /// Returns true if a batch has some of `pages`.
    pub(super) fn meets(&self, pages: &Range<usize>) -> bool {
        let mut sets = self.batch.iter().flat_map(|b| b.frames.iter());
        sets.any(|(_, set)| set.intersects(pages.clone()))
    }
}
