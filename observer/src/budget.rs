//! Limits how many mappings windows take, and how much memory their copies take.
//!
//! The kernel's limit on mappings is for the whole process, which needs mappings for other purposes
//! too. All windows of all observers of this process share half of the limit. A window may take
//! half of what the others have left of it. So each window finds some, and all together do not
//! exceed their half. Only a flat window that cannot do with fewer mappings may exceed it: then the
//! same rule holds for the kernel's whole limit.
//!
//! The copies of all windows of one observer share a budget, which the observer can set. Unless it
//! has, the free memory bounds them too. Only the copies that are made for lack of mappings may
//! exceed this.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use tcasm_core::sys::mem::max_map_count;
use tcasm_core::sys::room::Room;
use tcasm_core::testing::ablation::{Mechanism, without};

/// The number of mappings of all windows of this process.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The largest default budget: 128 chunks. An observer runs beside a simulation, which needs the
/// memory more. Whoever looks at larger scattered fields sets a larger budget.
const MOST: u64 = 256 << 20;

/// Without a budget that was set, one part in this many of the memory of the machine or control
/// group stays free of copies. Nobody must be killed for copies, and least of all the simulation.
const LEFT: u64 = 16;

/// The new copies of one version take at most one part in this many of what is free beyond that. So
/// as many observers can take their copies at the same moment.
const PART: u64 = 64;

/// Returns the default budget of an observer of a region of `bytes` bytes: as much as the region
/// has, so that a small one can be copied whole, but at most [`MOST`].
pub(crate) fn default_budget(bytes: usize) -> u64 {
    MOST.min(bytes as u64)
}

/// Returns the most mappings that all windows of this process may have.
pub(crate) fn limit() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| max_map_count() / 2)
}

/// The memory that the windows of one observer have taken, and the budget of their copies.
#[derive(Debug)]
pub(crate) struct Usage {
    mappings: AtomicUsize,
    copied: AtomicU64,
    budget: AtomicU64,
    /// True if the observer has set the budget, so that the free memory is no bound.
    is_set: AtomicBool,
}

impl Usage {
    /// Returns the usage of an observer that has set no budget. `budget` is the default.
    pub(crate) fn new(budget: u64) -> Self {
        Usage {
            mappings: AtomicUsize::new(0),
            copied: AtomicU64::new(0),
            budget: AtomicU64::new(budget),
            is_set: AtomicBool::new(false),
        }
    }

    /// Returns the number of mappings of the windows.
    pub(crate) fn mappings(&self) -> usize {
        self.mappings.load(Relaxed)
    }

    /// Returns the bytes of memory that the copies take.
    pub(crate) fn copied(&self) -> u64 {
        self.copied.load(Relaxed)
    }

    /// Returns the bytes that the copies may take.
    pub(crate) fn budget(&self) -> u64 {
        match without(Mechanism::Copies) {
            true => 0,
            false => self.budget.load(Relaxed),
        }
    }

    /// Sets the bytes that the copies may take. Copies that exist stay.
    pub(crate) fn set_budget(&self, bytes: u64) {
        self.budget.store(bytes, Relaxed);
        self.is_set.store(true, Relaxed);
    }
}

/// The mappings and the memory that one window has taken. They are given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    of: Arc<Usage>,
    mappings: usize,
    copied: u64,
    /// True if a copy was refused since [`Share::was_refused`] was called.
    refused: bool,
}

impl Share {
    /// Returns a share that has taken nothing yet.
    pub(crate) fn new(of: Arc<Usage>) -> Self {
        Share {
            of,
            mappings: 0,
            copied: 0,
            refused: false,
        }
    }

    /// Returns the most mappings that this window may have now, including those that it has.
    /// (Threads that ask at the same time may together get a little more. The other half of the
    /// kernel's limit allows for that.)
    pub(crate) fn most(&self) -> usize {
        self.most_without(0)
    }

    /// Returns the most mappings that this window could have if other windows gave back `given`.
    pub(crate) fn most_without(&self, given: usize) -> usize {
        limit().saturating_sub(self.others().saturating_sub(given)) / 2
    }

    /// Returns the most mappings that this window may have if it cannot do with fewer: half of what
    /// all windows have left of the kernel's limit.
    pub(crate) fn most_at_all(&self) -> usize {
        (2 * limit()).saturating_sub(self.others()) / 2
    }

    /// Returns the number of mappings of the other windows of this process.
    fn others(&self) -> usize {
        TAKEN.load(Relaxed).saturating_sub(self.mappings)
    }

    /// Returns the number of mappings that are taken.
    pub(crate) fn mappings(&self) -> usize {
        self.mappings
    }

    /// Takes `mappings` mappings from now on, instead of those taken before.
    pub(crate) fn set_mappings(&mut self, mappings: usize) {
        for count in [&TAKEN, &self.of.mappings] {
            count.fetch_add(mappings, Relaxed);
            count.fetch_sub(self.mappings, Relaxed);
        }
        self.mappings = mappings;
    }

    /// Returns the bytes of memory that the window's copies take.
    pub(crate) fn copied(&self) -> u64 {
        self.copied
    }

    /// Takes `bytes` more for copies, if all copies of the observer then stay within the budget.
    /// Returns false if they do not.
    pub(crate) fn try_copy(&mut self, bytes: u64) -> bool {
        let budget = self.of.budget();
        let more = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= budget);
        let fits = self.of.copied.fetch_update(Relaxed, Relaxed, more).is_ok();
        match fits {
            true => self.copied += bytes,
            false => self.refused = true,
        }
        fits
    }

    /// Returns the most bytes that new copies of a version may take, as far as the free memory
    /// bounds them. `shortage` tells of that, and is asked only if it can be a bound.
    pub(crate) fn spare(&self, shortage: impl FnOnce(u64) -> Option<Room>) -> u64 {
        if self.of.is_set.load(Relaxed) || self.of.copied() >= self.of.budget() {
            return u64::MAX;
        }
        let part = |room: Room| room.bytes.saturating_sub(room.limit / LEFT) / PART;
        shortage(u64::MAX).map_or(u64::MAX, part)
    }

    /// Notes that a copy was refused for lack of memory.
    pub(crate) fn refuse(&mut self) {
        self.refused = true;
    }

    /// Takes `bytes` more for copies, whatever the budget is.
    pub(crate) fn copy(&mut self, bytes: u64) {
        self.of.copied.fetch_add(bytes, Relaxed);
        self.copied += bytes;
    }

    /// Gives `bytes` of copies back.
    pub(crate) fn give_back(&mut self, bytes: u64) {
        self.of.copied.fetch_sub(bytes, Relaxed);
        self.copied -= bytes;
    }

    /// Returns true if a copy was refused since the last call.
    pub(crate) fn was_refused(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set_mappings(0);
        self.give_back(self.copied);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_take_at_most_half_of_the_mappings_and_give_them_back() {
        let (usage, mut shares) = (Arc::new(Usage::new(0)), Vec::new());
        for _ in 0..100 {
            let mut share = Share::new(usage.clone());
            share.set_mappings(share.most());
            shares.push(share);
        }
        assert!(TAKEN.load(Relaxed) <= limit());
        assert_eq!(usage.mappings(), TAKEN.load(Relaxed));
        assert_eq!(shares[0].mappings, limit() / 2);
        shares.clear();
        assert_eq!((TAKEN.load(Relaxed), usage.mappings()), (0, 0));
    }

    #[test]
    fn copies_stay_within_the_budget_unless_they_are_forced() {
        let usage = Arc::new(Usage::new(10));
        let [mut a, mut b] = [(); 2].map(|()| Share::new(usage.clone()));
        assert!(a.try_copy(7) && !b.try_copy(4) && b.try_copy(3));
        assert!(!a.was_refused() && b.was_refused() && !b.was_refused());
        a.give_back(2);
        assert!(b.try_copy(2) && !b.try_copy(1));
        b.copy(5);
        assert_eq!((a.copied(), b.copied(), usage.copied()), (5, 10, 15));
        drop(b);
        usage.set_budget(5);
        assert!(
            !a.try_copy(1),
            "a lower budget is for copies that come later"
        );
        drop(a);
        assert_eq!(usage.copied(), 0);
    }

    #[test]
    fn default_budget_is_bounded_and_not_larger_than_the_region() {
        assert_eq!(default_budget(1 << 20), 1 << 20);
        assert_eq!(default_budget(1 << 40), MOST);
    }

    const LIMIT: u64 = 64 << 30;

    /// Returns what the next version of an observer may copy while `bytes` are free.
    fn spare(bytes: u64) -> u64 {
        let (limit, of) = (LIMIT, String::new());
        let share = Share::new(Arc::new(Usage::new(MOST)));
        share.spare(|wanted| (bytes < wanted).then_some(Room { bytes, limit, of }))
    }

    #[test]
    fn copies_of_many_observers_leave_memory_free() {
        let mut free = LIMIT;
        for _ in 0..100_000 {
            free -= spare(free);
        }
        let least = LIMIT / LEFT;
        assert!((least..least + (1 << 20)).contains(&free), "{free}");
        assert_eq!((spare(least), spare(least / 2)), (0, 0));
        for free in [least + 1, 2 * least, LIMIT] {
            // All of them look before one has taken anything.
            assert!(free - PART * spare(free) >= least);
        }
        assert!(spare(LIMIT / 2) >= MOST, "one observer is not bounded here");
    }

    #[test]
    fn free_memory_does_not_bound_a_budget_that_was_set() {
        let usage = Arc::new(Usage::new(100));
        let share = Share::new(usage.clone());
        let none = |_| {
            Some(Room {
                bytes: 0,
                limit: 100,
                of: String::new(),
            })
        };
        assert_eq!(share.spare(none), 0);
        usage.set_budget(50);
        assert_eq!(share.spare(none), u64::MAX);
    }
}
