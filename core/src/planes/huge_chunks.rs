//! The chunks of a plane that are huge pages, and those that are to become such.

use crate::pageset::ChunkSet;
use crate::sys::lock::Lock;
use std::collections::BTreeMap;
use std::ops::Range;

/// The known state of the chunks of a plane.
#[derive(Debug)]
pub(super) struct HugeChunks(Lock<Chunks>);

#[derive(Debug)]
struct Chunks {
    /// The chunks that are to be gathered.
    wanted: ChunkSet,
    /// The chunks that were gathered, and of which no page was returned to the system since.
    gathered: ChunkSet,
    /// The chunks that the kernel could not gather. The number counts attempts, and requests after
    /// [`TRIES`] attempts.
    refused: BTreeMap<usize, u32>,
}

/// Number of attempts to gather a chunk in a row. The kernel may refuse one because somebody uses
/// the memory at that moment. Afterwards the chunk is tried again after twice as many requests each
/// time.
const TRIES: u32 = 8;

/// The answer to a request for a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// The chunk is a huge page.
    Yes,
    /// The kernel could not make it one.
    No,
    /// The keeper will try it.
    NotYet,
}

impl HugeChunks {
    pub(super) fn new(chunks: usize) -> Self {
        let set = || ChunkSet::new(chunks);
        HugeChunks(Lock::new(Chunks {
            wanted: set(),
            gathered: set(),
            refused: BTreeMap::new(),
        }))
    }

    /// Returns true if some of `chunks` were gathered.
    pub(super) fn has_gathered(&self, chunks: &Range<usize>) -> bool {
        self.0.lock().gathered.intersects(chunks.clone())
    }

    /// Forgets what is known of `chunks`, of which pages were returned to the system.
    pub(super) fn forget(&self, chunks: Range<usize>) {
        let mut known = self.0.lock();
        let Chunks {
            wanted,
            gathered,
            refused,
        } = &mut *known;
        for set in [wanted, gathered] {
            set.remove_range(chunks.clone());
        }
        refused.retain(|chunk, _| !chunks.contains(chunk));
    }

    /// Asks for all of `chunks` that are not known.
    pub(super) fn ask_all(&self, chunks: Range<usize>) {
        let mut known = self.0.lock();
        let mut new = ChunkSet::new(known.wanted.capacity());
        new.insert_range(chunks);
        new.subtract(&known.gathered);
        let given_up = known.refused.iter().filter(|(_, tries)| **tries >= TRIES);
        given_up.for_each(|(chunk, _)| new.remove_range(*chunk..chunk + 1));
        known.wanted.union(&new);
    }

    /// Returns whether a chunk was gathered. Asks for it if that may be tried.
    pub(super) fn ask(&self, chunk: usize) -> Gathered {
        let mut known = self.0.lock();
        if known.gathered.contains(chunk) {
            return Gathered::Yes;
        }
        if let Some(count) = known.refused.get_mut(&chunk).filter(|n| **n >= TRIES) {
            *count = count.saturating_add(1);
            if !count.is_power_of_two() {
                return Gathered::No;
            }
        }
        known.wanted.insert(chunk);
        Gathered::NotYet
    }

    /// Takes a chunk for which a huge page was asked.
    pub(super) fn take(&self) -> Option<usize> {
        let mut known = self.0.lock();
        let chunk = known.wanted.iter().next()?;
        known.wanted.remove_range(chunk..chunk + 1);
        Some(chunk)
    }

    /// Records whether a chunk was gathered.
    pub(super) fn done(&self, chunk: usize, gathered: bool) {
        let mut known = self.0.lock();
        match gathered {
            true => known.gathered.insert(chunk),
            false => *known.refused.entry(chunk).or_default() += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_is_tried_again_until_it_was_refused_often_and_anew_when_pages_left() {
        let chunks = HugeChunks::new(4);
        for _ in 0..TRIES {
            assert_eq!(chunks.ask(2), Gathered::NotYet);
            assert_eq!(chunks.take(), Some(2));
            chunks.done(2, false);
        }
        for _ in TRIES + 1..2 * TRIES {
            assert_eq!((chunks.ask(2), chunks.take()), (Gathered::No, None));
        }
        assert_eq!((chunks.ask(2), chunks.take()), (Gathered::NotYet, Some(2)));
        chunks.done(2, false);
        chunks.ask_all(1..4);
        assert_eq!((chunks.take(), chunks.take()), (Some(1), Some(3)));
        chunks.forget(2..3);
        assert_eq!((chunks.ask(2), chunks.take()), (Gathered::NotYet, Some(2)));
        chunks.done(2, true);
        assert_eq!(chunks.ask(2), Gathered::Yes);
        assert!(chunks.has_gathered(&(0..3)) && !chunks.has_gathered(&(3..4)));
    }
}
