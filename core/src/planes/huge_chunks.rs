//! The chunks of a plane that are huge pages, and those that are to become such.

use crate::pageset::ChunkSet;
use crate::sys::lock::Lock;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The known state of the chunks of a plane.
#[derive(Debug)]
pub(super) struct HugeChunks(Lock<Chunks>, Scarcity);

/// Tells when huge pages are lacking. Where memory is fragmented, the kernel looks for a huge page
/// for some milliseconds, and finds none.
#[derive(Debug, Default)]
struct Scarcity(AtomicU32);

impl Scarcity {
    /// Returns true if a huge page should be tried: always until one is refused, and then for each
    /// request whose number since then is a power of two.
    fn may_try(&self) -> bool {
        match self.0.load(Relaxed) {
            0 => true,
            _ => (self.0.fetch_add(1, Relaxed).saturating_add(1)).is_power_of_two(),
        }
    }

    /// Notes whether the kernel had a huge page.
    fn note(&self, had_one: bool) {
        match had_one {
            true => self.0.store(0, Relaxed),
            false => self.0.store(self.0.load(Relaxed).max(1), Relaxed),
        }
    }
}

#[derive(Debug)]
struct Chunks {
    /// The chunks that are to be gathered.
    wanted: ChunkSet,
    /// The chunks that were gathered, and of which no page was returned to the system since.
    gathered: ChunkSet,
    /// The chunks that were gathered, until all of their memory was returned. The kernel splits a
    /// huge page into pages as large as possible when a part of it is returned, so what is left has
    /// to be split again.
    large: ChunkSet,
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
        let chunks = Chunks {
            wanted: set(),
            gathered: set(),
            large: set(),
            refused: BTreeMap::new(),
        };
        HugeChunks(Lock::new(chunks), Scarcity::default())
    }

    /// Calls `gather` for a chunk that gets its memory as a whole, unless huge pages are lacking.
    /// Returns true if the chunk was gathered.
    pub(super) fn begin_with(&self, chunk: usize, gather: impl FnOnce() -> bool) -> bool {
        let gathered = self.1.may_try() && {
            let gathered = gather();
            self.1.note(gathered);
            gathered
        };
        if gathered {
            self.done(chunk, true);
        }
        gathered
    }

    /// Returns true if some of `chunks` may have pages that the kernel must split to return a part
    /// of their memory.
    pub(super) fn may_split(&self, chunks: &Range<usize>) -> bool {
        self.0.lock().large.intersects(chunks.clone())
    }

    /// Notes that a chunk has no memory any more.
    pub(super) fn emptied(&self, chunk: usize) {
        self.0.lock().large.remove_range(chunk..chunk + 1);
    }

    /// Forgets what is known of `chunks`, of which pages were returned to the system.
    pub(super) fn forget(&self, chunks: Range<usize>) {
        let mut known = self.0.lock();
        let Chunks {
            wanted,
            gathered,
            refused,
            large: _,
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
            true => {
                known.gathered.insert(chunk);
                known.large.insert(chunk);
            }
            false => *known.refused.entry(chunk).or_default() += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_and_fewer_huge_pages_are_tried_while_the_kernel_has_none() {
        let chunks = HugeChunks::new(1000);
        let tried = |gathered: bool, range: Range<usize>| {
            let one = |chunk: &usize| {
                let mut tried = false;
                let gather = || {
                    tried = true;
                    gathered
                };
                assert_eq!(chunks.begin_with(*chunk, gather), tried && gathered);
                assert_eq!(chunks.may_split(&(*chunk..chunk + 1)), tried && gathered);
                tried
            };
            range.filter(one).collect::<Vec<_>>()
        };
        assert_eq!(tried(true, 0..3), [0, 1, 2]);
        // The first refusal counts as request 1.
        assert_eq!(tried(false, 9..109), [9, 10, 12, 16, 24, 40, 72]);
        // Requests 101 to 131: the one that succeeds is request 128.
        assert_eq!(tried(true, 109..140), [136, 137, 138, 139]);
    }

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
        assert!(chunks.may_split(&(0..3)) && !chunks.may_split(&(3..4)));
        // A part of it leaves, and then the rest.
        chunks.forget(2..3);
        assert_eq!(chunks.ask(2), Gathered::NotYet);
        assert!(chunks.may_split(&(2..3)));
        chunks.emptied(2);
        assert!(!chunks.may_split(&(2..3)));
    }
}
