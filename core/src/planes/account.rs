//! The account of one plane: the record of the frames that have memory.
//!
//! This is the only place that counts memory of planes. All other code asks here, and the audit
//! ([`super::audit`]) compares the sum with what the kernel has allocated.

use crate::pageset::{ChunkBits, PageSet};
use std::ops::Range;

/// The frames of a plane that have memory, and those whose memory is being returned.
#[derive(Debug)]
pub(super) struct Account {
    held: PageSet,
    leaving: PageSet,
    /// The held frames whose memory lies on another node than live memory.
    misplaced: PageSet,
    /// The number of frames with memory: all that are held, and those leaving ones that were held.
    count: usize,
}

impl Account {
    pub(super) fn new(pages: usize) -> Self {
        Account {
            held: PageSet::new(pages),
            leaving: PageSet::new(pages),
            misplaced: PageSet::new(pages),
            count: 0,
        }
    }

    /// Returns the frames that have memory and can be used.
    pub(super) fn held(&self) -> &PageSet {
        &self.held
    }

    /// Returns the frames that nobody may use until their memory has been returned.
    pub(super) fn leaving(&self) -> &PageSet {
        &self.leaving
    }

    /// Returns the frames whose memory lies on another node than live memory of their pages.
    pub(super) fn misplaced(&self) -> &PageSet {
        &self.misplaced
    }

    /// Returns the frames of a chunk that have memory where it should be.
    pub(super) fn ready(&self, chunk: usize) -> ChunkBits {
        let (held, misplaced) = (self.held.chunk(chunk), self.misplaced.chunk(chunk));
        std::array::from_fn(|i| held[i] & !misplaced[i])
    }

    /// Returns how many frames of `pages` have memory where it should be.
    pub(super) fn ready_in(&self, pages: &Range<usize>) -> usize {
        self.held.count_in(pages.clone()) - self.misplaced.count_in(pages.clone())
    }

    /// Records that live memory of a chunk lies on another node now than the memory of its frames.
    /// The frames in `fresh` get their memory only from now on.
    pub(super) fn misplace(&mut self, chunk: usize, fresh: &ChunkBits) {
        let held = *self.held.chunk(chunk);
        let bits = self.misplaced.chunk_mut(chunk).iter_mut();
        let found = held.iter().zip(fresh).map(|(held, fresh)| held & !fresh);
        bits.zip(found).for_each(|(bits, found)| *bits |= found);
    }

    /// Returns the number of pages that have memory. It includes those whose memory is being
    /// returned, which count under the bound (I7) until it is gone.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Enters frames that have memory, or are about to get some. Returns those that had none.
    pub(super) fn enter(&mut self, pages: &PageSet) -> PageSet {
        let mut new = pages.clone();
        new.subtract(&self.held);
        self.held.union(pages);
        self.count += new.len();
        new
    }

    /// Removes frames whose memory is gone, or never came. All of them must be held.
    pub(super) fn strike(&mut self, pages: &PageSet) {
        self.held.subtract(pages);
        self.misplaced.subtract(pages);
        self.count -= pages.len();
    }

    /// Reserves `pages` while their memory is returned. Returns how many of them have memory by
    /// this account: all, or none.
    pub(super) fn leave(&mut self, pages: &Range<usize>) -> usize {
        let counted = self.held.count_in(pages.clone());
        debug_assert!(counted == 0 || counted == pages.len());
        self.held.remove_range(pages.clone());
        self.misplaced.remove_range(pages.clone());
        self.leaving.insert_range(pages.clone());
        counted
    }

    /// Lets `pages` be used again. `counted` of them, all or none, had memory before. Those in
    /// `kept` have it still.
    pub(super) fn left(&mut self, pages: &Range<usize>, counted: usize, kept: &[Range<usize>]) {
        self.leaving.remove_range(pages.clone());
        if counted != 0 {
            self.count -= counted;
            for kept in kept {
                self.held.insert_range(kept.clone());
                self.count += kept.len();
            }
        }
    }
}
