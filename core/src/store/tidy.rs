//! Giving memory back behind the simulation's back: versions that nobody pins any more, and slots that nothing will need.
//!
//! A fresh page costs several times its copy, on a virtual machine twenty times and more. So each page that changed lately, or
//! changes again and again, keeps one slot to go to: the one that the oldest version of the history gives up when the next is
//! published, if the newest version changed the page, or else a free one with memory. As long as other pages change than before,
//! nobody knows which will be next, and every page keeps a slot if it has one. All other slots that were not taken for two windows
//! of looks go back to the system; how long these are, `planes/patience.rs` learns. Punching holes takes long, so it is done outside the lock that whoever owns the store has
//! around it: meanwhile the slots are *leaving*, and nobody places a page there.

use super::Store;
use crate::index::IndexError;
use crate::pageset::{ChunkBits, PageSet};
use crate::planes::Leaving;

/// Versions of a generation: a page that changes in one is kept a slot for until the end of the next.
const GENERATION: u32 = 16;
/// Generations of an epoch: a page that changes in two of them is kept a slot for until the end of the next epoch. Pages that are
/// drawn at random, one in a hundred for each version, mostly are; those that were only filled once, at the start, are not.
const EPOCH: u32 = 16;
/// Generations that must go by without many pages that did not change before, until the others keep no slots.
const RESTLESS: u32 = 4;
/// So many of the pages of a generation, one in ..., are many.
const MANY: usize = 8;
/// Pages given back in one go.
const AT_ONCE: usize = 8192;

/// The pages that changed lately, and those that change again and again.
#[derive(Debug)]
pub(super) struct Recent {
    /// Changed in this generation, and in the last.
    young: PageSet,
    old: PageSet,
    /// Changed in a generation of this epoch, and in two.
    once: PageSet,
    again: PageSet,
    /// Those of the last epoch that changed again.
    before: PageSet,
    /// Versions so far.
    age: u32,
    /// Generations for which every page keeps a slot.
    restless: u32,
    /// Those that the newest changed.
    last: PageSet,
    /// Versions of a generation.
    generation: u32,
}

impl Recent {
    pub(super) fn new(pages: usize) -> Self {
        let [young, old, once, again, before, last] = [(); 6].map(|()| PageSet::new(pages));
        Recent {
            young,
            old,
            once,
            again,
            before,
            age: 0,
            restless: RESTLESS,
            last,
            generation: GENERATION,
        }
    }

    /// A version changes `pages`.
    pub(super) fn note(&mut self, pages: &PageSet) {
        self.young.union(pages);
        self.last = pages.clone();
        self.age = self.age.wrapping_add(1);
        if self.age.is_multiple_of(self.generation) {
            self.end_generation();
        }
        if self.age.is_multiple_of(self.generation * EPOCH) {
            self.before = std::mem::replace(&mut self.again, PageSet::new(pages.capacity()));
            self.once.clear();
        }
    }

    /// Let a generation be so many versions.
    pub(super) fn set_generation(&mut self, versions: u32) {
        self.generation = versions.max(1);
    }

    /// Whether no page of a chunk changed for a generation or two.
    pub(super) fn is_calm(&self, chunk: usize) -> bool {
        let none = ChunkBits::default();
        *self.young.chunk(chunk) == none && *self.old.chunk(chunk) == none
    }

    /// What changed of `pages` so far says nothing any more.
    fn forget(&mut self, pages: &PageSet) {
        for set in [
            &mut self.young,
            &mut self.old,
            &mut self.once,
            &mut self.again,
            &mut self.before,
        ] {
            set.subtract(pages);
        }
        self.restless = RESTLESS;
    }

    fn end_generation(&mut self) {
        let mut new = self.young.clone();
        for known in [&self.old, &self.once, &self.again, &self.before] {
            new.subtract(known);
        }
        self.restless = match new.len() * MANY > self.young.len() {
            true => RESTLESS,
            false => self.restless.saturating_sub(1),
        };
        let mut twice = self.once.clone();
        twice.intersect(&self.young);
        self.again.union(&twice);
        self.once.union(&self.young);
        let empty = PageSet::new(self.young.capacity());
        self.old = std::mem::replace(&mut self.young, empty);
    }

    /// Pages for which a free slot is to keep its memory, where so many versions of history are kept.
    fn wanted(&self, history: usize) -> PageSet {
        let mut wanted = self.young.clone();
        for more in [&self.old, &self.again, &self.before] {
            wanted.union(more);
        }
        if self.restless != 0 {
            wanted.insert_range(0..wanted.capacity());
        }
        if history != 0 {
            wanted.subtract(&self.last);
        }
        wanted
    }
}

impl Store {
    /// `pages` were captured whole, and are not any more: only those that change from now on need slots.
    pub fn no_longer_whole(&mut self, pages: &PageSet) {
        self.recent.forget(pages);
    }

    /// A look for memory to give back begins.
    pub fn look(&mut self) {
        self.planes.look();
    }

    /// Reclaim a version that nobody pins any more, and choose slots whose memory goes back. They must be punched, and then
    /// [`Store::gone`] be told. Nothing happens while a capture goes on.
    pub fn tidy(&mut self, pinned: &dyn Fn(u64) -> bool) -> Result<Vec<Leaving>, IndexError> {
        self.take_note();
        if self.in_flight.is_some() {
            return Ok(Vec::new());
        }
        let keep = (self.bounds.history + 1).max(self.live.len().saturating_sub(1));
        self.reclaim_beyond(keep, pinned)?;
        if !self.has_plane_to_spare() {
            return Ok(Vec::new());
        }
        let wanted = self.recent.wanted(self.bounds.history);
        Ok(self.planes.leave(wanted, AT_ONCE))
    }

    /// The slots were punched, or (where that failed) were not.
    pub fn gone(&mut self, leaving: &[(Leaving, bool)]) {
        for (slots, punched) in leaving {
            self.planes.gone(slots, *punched);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: usize = 4096;

    fn pages(of: impl Iterator<Item = usize>) -> PageSet {
        let mut set = PageSet::new(PAGES);
        of.for_each(|page| set.insert(page));
        set
    }

    fn wanted_after(versions: u32, changed: impl Fn(u32) -> PageSet) -> usize {
        let mut recent = Recent::new(PAGES);
        (0..versions).for_each(|n| recent.note(&changed(n)));
        recent.wanted(0).len()
    }

    #[test]
    fn pages_that_were_filled_once_keep_no_slot_for_long() {
        let filled_at_start = |n| pages(0..if n < 5 { PAGES } else { 7 });
        assert_eq!(wanted_after(5, filled_at_start), PAGES);
        assert_eq!(
            wanted_after((2 + RESTLESS) * GENERATION, filled_at_start),
            7
        );
        assert_eq!(wanted_after(40 * GENERATION, filled_at_start), 7);
    }

    #[test]
    fn as_long_as_other_pages_change_than_before_each_keeps_a_slot() {
        let moving = |n| pages((n as usize * 3..n as usize * 3 + 30).filter(|page| *page < PAGES));
        assert_eq!(wanted_after(40 * GENERATION, moving), PAGES);
        let ended = |n| pages((n as usize * 3..n as usize * 3 + 30).filter(|page| *page < 1000));
        assert!(wanted_after(100 * GENERATION, ended) < 1000);
    }

    #[test]
    fn pages_that_change_now_and_then_keep_their_slots_until_they_have_stopped_for_long() {
        let now_and_then = |n| match n / GENERATION {
            // Each page in one of 64 versions.
            0..64 => pages((0..PAGES).filter(|page| page % 64 == n as usize % 64)),
            _ => PageSet::new(PAGES),
        };
        assert_eq!(wanted_after(64 * GENERATION, now_and_then), PAGES);
        assert_eq!(wanted_after(97 * GENERATION, now_and_then), 0);
    }
}
