//! What the producer remembers of the ring's slots, so that a version costs what it changes, and not what it holds.
//!
//! Each slot of the index has a map of its own. Between the uses of a slot few chunks change, so only their entries are
//! written anew: to whoever reads it, the map is the same as if all of it had been.

use crate::pageset::ChunkSet;

/// The slots of a ring.
pub(super) struct Ring {
    slots: Vec<Slot>,
}

#[derive(Clone)]
struct Slot {
    /// The chunks whose entries here may not be the newest version's. All others are.
    stale: ChunkSet,
    /// The chunks that are marked as changed in the index, and perhaps some that are not.
    marked: ChunkSet,
    /// The chunks that the version changed which is here, or is being written.
    changed: ChunkSet,
    /// The chunks in which the version here may differ from the live one before it.
    since: ChunkSet,
}

impl Ring {
    /// `slots` slots without a version: their entries are zero, and so is the map before the first version.
    pub fn new(slots: usize, chunks: usize) -> Self {
        let [stale, marked, changed, since] = [(); 4].map(|()| ChunkSet::new(chunks));
        let slot = Slot {
            stale,
            marked,
            changed,
            since,
        };
        Ring {
            slots: vec![slot; slots],
        }
    }

    /// A version that changes `changed` is about to be written in `slot`, which may fail at any point. Returns the chunks that
    /// are marked so far.
    pub fn begin(&mut self, slot: usize, changed: &ChunkSet) -> ChunkSet {
        let slot = &mut self.slots[slot];
        slot.changed = changed.clone();
        slot.stale.union(changed);
        let before = slot.marked.clone();
        slot.marked.union(changed);
        before
    }

    /// The chunks whose entries must be written so that `slot` has the map of the newest version, but for what the version
    /// that was begun changes.
    pub fn stale(&self, slot: usize) -> &ChunkSet {
        &self.slots[slot].stale
    }

    /// The version that was begun in `slot` is whole, and the newest from now on.
    pub fn visible(&mut self, slot: usize) {
        let changed = self.slots[slot].changed.clone();
        for other in &mut self.slots {
            other.stale.union(&changed);
        }
        let slot = &mut self.slots[slot];
        slot.stale.clear();
        slot.marked = changed.clone();
        slot.since = changed;
    }

    /// The chunks in which the version in `slot` may differ from the live one before it.
    pub fn since(&self, slot: usize) -> &ChunkSet {
        &self.slots[slot].since
    }

    /// The version in `slot` is gone; the next live one is in `next`.
    pub fn gone(&mut self, slot: usize, next: usize) {
        let since = self.slots[slot].since.clone();
        self.slots[next].since.union(&since);
    }
}
