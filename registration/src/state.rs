//! The registrations, those that may be hit, and those that nobody uses.
//!
//! Registrations that may be hit never overlap: a request that no single one covers replaces all
//! that it touches. So a map ordered by first address is an interval tree: ends are in the same
//! order as starts, and the ranges that overlap another one are neighbours. Registrations that were
//! replaced or invalidated while somebody used them are *detached*: they are never hit again, and
//! end when they are released.

use crate::emptied::Emptied;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One registration.
#[derive(Debug)]
pub(crate) struct Entry<H> {
    pub(crate) id: u64,
    pub(crate) range: Range<usize>,
    pub(crate) handle: H,
    /// True if the end of its mapping is noticed.
    pub(crate) followed: bool,
    gone: AtomicBool,
}

impl<H> Entry<H> {
    /// Returns true until its memory is unmapped, moved or emptied.
    pub(crate) fn is_current(&self) -> bool {
        !self.gone.load(Ordering::Acquire)
    }
}

/// An entry with its users.
#[derive(Debug)]
struct Slot<H> {
    entry: Arc<Entry<H>>,
    users: usize,
    /// Its place in `unused`.
    since: Option<u64>,
}

/// All registrations of a cache. Methods that end registrations return them, and the caller
/// deregisters them.
#[derive(Debug)]
pub(crate) struct State<H> {
    slots: HashMap<u64, Slot<H>>,
    /// The entries that may be hit: first address, to the end and the number of the entry.
    current: BTreeMap<usize, (usize, u64)>,
    /// The entries that nobody uses, by the time of their last release.
    unused: BTreeMap<u64, u64>,
    /// The entries that are in use and are never hit again.
    detached: BTreeSet<u64>,
    bytes: usize,
    clock: u64,
    /// The number of changes of the address space that were taken.
    pub(crate) changes: u64,
    /// The memory that was emptied lately.
    pub(crate) emptied: Emptied,
}

fn is_named<H>(current: &BTreeMap<usize, (usize, u64)>, entry: &Entry<H>) -> bool {
    let named = current.get(&entry.range.start);
    named.is_some_and(|(_, id)| *id == entry.id)
}

impl<H> State<H> {
    pub(crate) fn new() -> Self {
        State {
            slots: HashMap::new(),
            current: BTreeMap::new(),
            unused: BTreeMap::new(),
            detached: BTreeSet::new(),
            bytes: 0,
            clock: 0,
            changes: 0,
            emptied: Emptied::default(),
        }
    }

    /// Returns the number of registrations, in use or not.
    pub(crate) fn entries(&self) -> usize {
        self.slots.len()
    }

    /// Returns the registered bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of registrations that nobody uses.
    pub(crate) fn unused(&self) -> usize {
        self.unused.len()
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Returns the entries that may be hit and overlap the range.
    fn touched(&self, range: &Range<usize>) -> Vec<u64> {
        let before_end = self.current.range(..range.end).rev();
        before_end
            .take_while(|(_, (end, _))| *end > range.start)
            .map(|(_, (_, id))| *id)
            .collect()
    }

    /// Returns the smallest range with this one and all that it touches.
    pub(crate) fn union(&self, range: &Range<usize>) -> Range<usize> {
        let ids = self.touched(range);
        ids.iter().fold(range.clone(), |all, id| {
            let own = &self.slots[id].entry.range;
            all.start.min(own.start)..all.end.max(own.end)
        })
    }

    /// Returns the union of a request with what it touches if no change was taken since there were
    /// `changes`, or else the range that was asked for. A change that is taken before memory is
    /// registered ends no registration of it, and memory beside the range may be what changed.
    pub(crate) fn unless_changed(
        &self,
        changes: u64,
        union: Range<usize>,
        range: &Range<usize>,
    ) -> Range<usize> {
        match self.changes == changes {
            true => union,
            false => range.clone(),
        }
    }

    /// Returns the parts of the range that no registration covers which may be hit.
    pub(crate) fn gaps(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let (mut gaps, mut at) = (Vec::new(), range.start);
        for id in self.touched(range).into_iter().rev() {
            let own = &self.slots[&id].entry.range;
            if at < own.start {
                gaps.push(at..own.start);
            }
            at = own.end;
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    fn covering(&self, range: &Range<usize>) -> Option<u64> {
        let (_, (end, id)) = self.current.range(..=range.start).next_back()?;
        (*end >= range.end).then_some(*id)
    }

    /// Returns the handle of the registration that covers the range. It gets no user.
    pub(crate) fn peek(&self, range: &Range<usize>) -> Option<&H> {
        let id = self.covering(range)?;
        Some(&self.slots.get(&id)?.entry.handle)
    }

    /// Returns the registration that covers the range, and counts one more user.
    pub(crate) fn hit(&mut self, range: &Range<usize>) -> Option<Arc<Entry<H>>> {
        let id = self.covering(range)?;
        let slot = self.slots.get_mut(&id)?;
        if let Some(since) = slot.since.take() {
            self.unused.remove(&since);
        }
        slot.users += 1;
        Some(slot.entry.clone())
    }

    /// Adds a registration with one user. It can be hit if its mapping is followed. The caller has
    /// detached all that overlaps it.
    pub(crate) fn add(&mut self, range: Range<usize>, handle: H, followed: bool) -> Arc<Entry<H>> {
        let id = self.tick();
        self.bytes = self.bytes.saturating_add(range.len());
        if followed {
            self.current.insert(range.start, (range.end, id));
        } else {
            self.detached.insert(id);
        }
        let entry = Arc::new(Entry {
            id,
            range,
            handle,
            followed,
            gone: AtomicBool::new(false),
        });
        let slot = Slot {
            entry: entry.clone(),
            users: 1,
            since: None,
        };
        self.slots.insert(id, slot);
        entry
    }

    /// Returns true unless the entry is detached, or has ended.
    pub(crate) fn may_be_hit(&self, entry: &Entry<H>) -> bool {
        is_named(&self.current, entry)
    }

    /// Counts one user less. Returns the entry if it ends with that: it is detached, or `keep` is
    /// false.
    pub(crate) fn release(&mut self, id: u64, keep: bool) -> Option<Arc<Entry<H>>> {
        let since = self.tick();
        let slot = self.slots.get_mut(&id)?;
        slot.users -= 1;
        if slot.users > 0 {
            return None;
        }
        let may_be_hit = is_named(&self.current, &slot.entry);
        if keep && may_be_hit {
            slot.since = Some(since);
            self.unused.insert(since, id);
            return None;
        }
        if may_be_hit {
            self.current.remove(&slot.entry.range.start);
        }
        self.take(id)
    }

    /// Ends the registration that was not used for longest, if there is one.
    pub(crate) fn evict(&mut self) -> Option<Arc<Entry<H>>> {
        let (_, id) = self.unused.pop_first()?;
        let range = &self.slots[&id].entry.range;
        self.current.remove(&range.start);
        self.take(id)
    }

    /// Detaches what the range touches. Returns those that nobody uses.
    pub(crate) fn detach(&mut self, range: &Range<usize>) -> Vec<Arc<Entry<H>>> {
        let mut ended = Vec::new();
        for id in self.touched(range) {
            let Some(slot) = self.slots.get(&id) else {
                continue;
            };
            self.current.remove(&slot.entry.range.start);
            if let Some(since) = slot.since {
                self.unused.remove(&since);
                ended.extend(self.take(id));
            } else {
                self.detached.insert(id);
            }
        }
        ended
    }

    /// Detaches what the range touches, and records of every registration there, detached ones
    /// too, that its memory is gone. Returns those that nobody uses, and how many are gone.
    pub(crate) fn invalidate(&mut self, range: &Range<usize>) -> (Vec<Arc<Entry<H>>>, usize) {
        let mut gone = 0;
        let touched = self.touched(range).into_iter();
        for id in touched.chain(self.detached.iter().copied()) {
            let Some(Slot { entry, .. }) = self.slots.get(&id) else {
                continue;
            };
            if entry.range.start < range.end && range.start < entry.range.end {
                let already = entry.gone.swap(true, Ordering::AcqRel);
                gone += usize::from(!already);
            }
        }
        (self.detach(range), gone)
    }

    /// Removes an entry that neither `current` nor `unused` names.
    fn take(&mut self, id: u64) -> Option<Arc<Entry<H>>> {
        self.detached.remove(&id);
        let slot = self.slots.remove(&id)?;
        self.bytes = self.bytes.saturating_sub(slot.entry.range.len());
        Some(slot.entry)
    }
}
