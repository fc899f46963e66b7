//! The producer's record of the ring's slots. It makes a publish cost what the version changes, not
//! what it holds.
//!
//! Each slot of the index has a page map of its own. Between two uses of a slot only few chunks
//! change, so only their entries are written again. Readers see the same map as if all of it had
//! been written.

use crate::pageset::ChunkSet;

/// The producer's record of each slot of the ring.
pub(super) struct Ring {
    slots: Vec<Slot>,
}

#[derive(Clone)]
struct Slot {
    /// Chunks whose entries in this slot may differ from the newest version's. All other entries
    /// are equal.
    stale: ChunkSet,
    /// Chunks that may be marked as changed in the index. All chunks that are marked are in this
    /// set.
    marked: ChunkSet,
    /// Chunks changed by the version that is in this slot or is being written to it.
    changed: ChunkSet,
    /// Chunks in which the version in this slot may differ from the live version before it.
    since: ChunkSet,
}

impl Ring {
    /// Creates a ring of `slots` slots without a version. Their entries are all zero, like the map
    /// before the first version.
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

    /// Prepares `slot` for a version that changes the chunks `changed`. Writing that version may
    /// fail at any point. Returns the chunks that may be marked so far.
    pub fn begin(&mut self, slot: usize, changed: &ChunkSet) -> ChunkSet {
        let slot = &mut self.slots[slot];
        slot.changed = changed.clone();
        slot.stale.union(changed);
        let before = slot.marked.clone();
        slot.marked.union(changed);
        before
    }

    /// Returns the chunks whose entries must be written so that `slot` has the map of the new
    /// version. These are the chunks that the new version changes, and those that differ from the
    /// newest version's map.
    pub fn stale(&self, slot: usize) -> &ChunkSet {
        &self.slots[slot].stale
    }

    /// Records that the version begun in `slot` is complete and is now the newest.
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

    /// Returns the chunks in which the version in `slot` may differ from the live version before
    /// it.
    pub fn since(&self, slot: usize) -> &ChunkSet {
        &self.slots[slot].since
    }

    /// Records that the version in `slot` was reclaimed. `next` is the slot of the live version
    /// after it.
    pub fn gone(&mut self, slot: usize, next: usize) {
        let since = self.slots[slot].since.clone();
        self.slots[next].since.union(&since);
    }
}
