//! The pages that changed lately, and those that change again and again.

use crate::pageset::{ChunkBits, PageSet};
use crate::testing::ablation::{Mechanism, without};

/// The number of versions in a generation. A page that changes in one generation keeps a frame
/// until the end of the next.
const GENERATION: u32 = 16;
/// The number of generations in an epoch. A page that changes in two generations of an epoch keeps
/// a frame until the end of the next epoch. If each version changes one page in a hundred, drawn at
/// random, most pages do. Pages that were only filled once, at the start, do not.
const EPOCH: u32 = 16;
/// The number of generations that must pass without many new pages before the pages that do not
/// change return their frames. A new page is one that did not change before.
const UNSETTLED: u32 = 4;
/// A generation has many new pages if more than 1/8 of the pages that it changed are new.
const MANY: usize = 8;

/// The pages that changed lately, and those that change again and again.
#[derive(Debug)]
pub(super) struct Recent {
    /// Pages that changed in this generation.
    young: PageSet,
    /// Pages that changed in the last generation.
    old: PageSet,
    /// Pages that changed in one or more generations of this epoch that have ended.
    once: PageSet,
    /// Pages that changed in two or more of these generations.
    again: PageSet,
    /// The pages of `again` at the end of the last epoch.
    before: PageSet,
    /// The number of versions so far.
    age: u32,
    /// The number of generations for which every page still keeps a frame.
    unsettled: u32,
    /// The pages that the newest version changed.
    last: PageSet,
    /// The number of versions in a generation.
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
            unsettled: UNSETTLED,
            last,
            generation: GENERATION,
        }
    }

    /// Records that a version changes `pages`.
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

    /// Sets the number of versions in a generation.
    pub(super) fn set_generation(&mut self, versions: u32) {
        self.generation = versions.max(1);
    }

    /// Records that `pages` were copied although they did not change. Their chunks change in many
    /// versions, so these pages need frames again.
    pub(super) fn expect(&mut self, pages: &PageSet) {
        self.young.union(pages);
        self.last.union(pages);
    }

    /// Returns true if no page of a chunk changed in this generation or in the last one.
    pub(super) fn is_cold(&self, chunk: usize) -> bool {
        let none = ChunkBits::default();
        *self.young.chunk(chunk) == none && *self.old.chunk(chunk) == none
    }

    /// Forgets what is known of `pages`: how they changed so far says nothing about the future.
    pub(super) fn forget(&mut self, pages: &PageSet) {
        self.vacate(pages);
        self.unsettled = UNSETTLED;
    }

    /// Forgets `pages`, which no field has any more.
    pub(super) fn vacate(&mut self, pages: &PageSet) {
        for set in [
            &mut self.young,
            &mut self.old,
            &mut self.once,
            &mut self.again,
            &mut self.before,
        ] {
            set.subtract(pages);
        }
    }

    fn end_generation(&mut self) {
        let mut new = self.young.clone();
        for known in [&self.old, &self.once, &self.again, &self.before] {
            new.subtract(known);
        }
        self.unsettled = match new.len() * MANY > self.young.len() {
            true => UNSETTLED,
            false => self.unsettled.saturating_sub(1),
        };
        let mut twice = self.once.clone();
        twice.intersect(&self.young);
        self.again.union(&twice);
        self.once.union(&self.young);
        let empty = PageSet::new(self.young.capacity());
        self.old = std::mem::replace(&mut self.young, empty);
    }

    /// Returns the pages for which a free frame keeps its memory. `history` is the number of
    /// versions that are kept besides the newest.
    pub(super) fn wanted(&self, history: usize) -> PageSet {
        let mut wanted = self.young.clone();
        wanted.union(&self.old);
        let epochs = !without(Mechanism::Epochs);
        if epochs {
            wanted.union(&self.again);
            wanted.union(&self.before);
        }
        if epochs && self.unsettled != 0 || without(Mechanism::Recency) {
            wanted.insert_range(0..wanted.capacity());
        }
        if history != 0 {
            wanted.subtract(&self.last);
        }
        wanted
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
    fn pages_filled_once_soon_return_their_frames() {
        let filled_at_start = |n| pages(0..if n < 5 { PAGES } else { 7 });
        assert_eq!(wanted_after(5, filled_at_start), PAGES);
        assert_eq!(
            wanted_after((2 + UNSETTLED) * GENERATION, filled_at_start),
            7
        );
        assert_eq!(wanted_after(40 * GENERATION, filled_at_start), 7);
    }

    #[test]
    fn every_page_keeps_a_frame_while_new_pages_change() {
        let moving = |n| pages((n as usize * 3..n as usize * 3 + 30).filter(|page| *page < PAGES));
        assert_eq!(wanted_after(40 * GENERATION, moving), PAGES);
        let ended = |n| pages((n as usize * 3..n as usize * 3 + 30).filter(|page| *page < 1000));
        assert!(wanted_after(100 * GENERATION, ended) < 1000);
    }

    /// Each page changes in one of 64 versions, until it stops changing.
    fn now_and_then(version: u32) -> PageSet {
        match version / GENERATION {
            0..64 => pages((0..PAGES).filter(|page| page % 64 == version as usize % 64)),
            _ => PageSet::new(PAGES),
        }
    }

    #[test]
    fn pages_that_change_rarely_keep_frames_until_they_stop_changing() {
        assert_eq!(wanted_after(64 * GENERATION, now_and_then), PAGES);
        assert_eq!(wanted_after(97 * GENERATION, now_and_then), 0);
    }

    #[cfg(feature = "ablation")]
    #[test]
    fn without_epochs_pages_of_two_generations_keep_frames_and_without_recency_all_pages_do() {
        let left = crate::testing::ablation::leave_out(Mechanism::Epochs);
        assert_eq!(wanted_after(GENERATION, now_and_then), PAGES / 4);
        assert_eq!(wanted_after(64 * GENERATION, now_and_then), PAGES / 4);
        drop(left);
        let _left = crate::testing::ablation::leave_out(Mechanism::Recency);
        assert_eq!(wanted_after(97 * GENERATION, now_and_then), PAGES);
    }
}
