//! Giving memory back behind the simulation's back: versions that nobody pins any more, and slots that nothing will need.
//!
//! A fresh page costs several times its copy, so each page that changed lately keeps one slot to go to: the one that the
//! oldest version of the history gives up when the next is published, if the newest version changed the page, or else a free
//! one with memory. All others that were not taken for two looks go back to the system. Punching holes takes long, so it is
//! done outside the lock that whoever owns the store has around it: meanwhile the slots are *leaving*, and nobody places a
//! page there.

use super::Store;
use crate::index::IndexError;
use crate::pageset::PageSet;
use crate::planes::Leaving;

/// Versions after which pages that did not change any more count as calm.
const LATELY: u32 = 8;
/// Pages given back in one go.
const AT_ONCE: usize = 8192;

/// The pages that changed in the last versions: between one and two times [`LATELY`] of them.
#[derive(Debug)]
pub(super) struct Recent {
    young: PageSet,
    old: PageSet,
    age: u32,
    /// Those that the newest changed.
    last: PageSet,
}

impl Recent {
    pub(super) fn new(pages: usize) -> Self {
        Recent {
            young: PageSet::new(pages),
            old: PageSet::new(pages),
            age: 0,
            last: PageSet::new(pages),
        }
    }

    /// A version changes `pages`.
    pub(super) fn note(&mut self, pages: &PageSet) {
        self.young.union(pages);
        self.last = pages.clone();
        self.age += 1;
        if self.age == LATELY {
            let fresh = PageSet::new(pages.capacity());
            self.old = std::mem::replace(&mut self.young, fresh);
            self.age = 0;
        }
    }

    /// Pages for which a free slot is to keep its memory, where so many versions of history are kept.
    fn wanted(&self, history: usize) -> PageSet {
        let mut wanted = self.young.clone();
        wanted.union(&self.old);
        if history != 0 {
            wanted.subtract(&self.last);
        }
        wanted
    }
}

impl Store {
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
        // Each page needs a slot for the next version, one may be leaving, and one be live memory that is handed over.
        if self.live.len() + 3 > self.bounds.versions {
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
