//! The regions of this process. Most calls concern none, and find that out without a lock: a lock
//! could be held by a thread that waits for the thread that asks.

use crate::region::Region;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tcasm_core::sys::fork::Process;

/// The most regions of a process.
pub const MOST: usize = 64;

/// The regions of one process. A forked child gets others: it has neither the memory nor the
/// threads of its parent's, and their lock may be held by a thread that it does not have.
pub struct Regions {
    process: Process,
    /// The addresses of each region, for calls that do not take the lock.
    ranges: [[AtomicUsize; 2]; MOST],
    slots: Mutex<[Option<Region>; MOST]>,
}

static CURRENT: AtomicPtr<Regions> = AtomicPtr::new(null_mut());

impl Regions {
    fn new() -> Self {
        Regions {
            process: Process::current(),
            ranges: std::array::from_fn(|_| Default::default()),
            slots: Mutex::new([const { None }; MOST]),
        }
    }

    /// Returns the regions of this process, if it has had any.
    #[allow(unsafe_code)]
    pub fn existing() -> Option<&'static Regions> {
        let current = CURRENT.load(Ordering::Acquire);
        // SAFETY: a pointer that is not null was leaked by `of_process`, so it stays valid. A
        // forked child has a copy of it.
        let regions = unsafe { current.as_ref() }?;
        regions.process.is_current().then_some(regions)
    }

    /// Returns the regions of this process.
    pub fn of_process() -> &'static Regions {
        let old = CURRENT.load(Ordering::Acquire);
        if let Some(regions) = Regions::existing() {
            return regions;
        }
        let new: &'static mut Regions = Box::leak(Box::new(Regions::new()));
        // If another thread was first, its regions are used, and these are wasted.
        let _ = CURRENT.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire);
        Regions::existing().expect("they were just stored")
    }

    /// Returns true if a region has an address of `range`. Takes no lock.
    pub fn touch(&self, range: &Range<usize>) -> bool {
        self.ranges.iter().any(|[start, end]| {
            let end = end.load(Ordering::Acquire);
            end > range.start && start.load(Ordering::Acquire) < range.end
        })
    }

    /// Takes the lock.
    pub fn lock(&self) -> Locked<'_> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Locked {
            slots,
            ranges: &self.ranges,
        }
    }

    /// Takes the lock, if no thread has it.
    pub fn try_lock(&self) -> Option<Locked<'_>> {
        let slots = match self.slots.try_lock() {
            Ok(slots) => slots,
            Err(std::sync::TryLockError::Poisoned(slots)) => slots.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => return None,
        };
        Some(Locked {
            slots,
            ranges: &self.ranges,
        })
    }
}

/// The regions, for one thread at a time.
pub struct Locked<'a> {
    slots: MutexGuard<'a, [Option<Region>; MOST]>,
    ranges: &'a [[AtomicUsize; 2]; MOST],
}

impl Locked<'_> {
    /// Returns all regions.
    pub fn all(&mut self) -> impl Iterator<Item = &mut Region> {
        self.slots.iter_mut().flatten()
    }

    /// Returns true if there is room for another region.
    pub fn has_room(&self) -> bool {
        self.slots.iter().any(Option::is_none)
    }

    /// Adds a region. There must be room.
    pub fn add(&mut self, region: Region) {
        let free = self.slots.iter().position(Option::is_none);
        let slot = free.expect("the caller has checked that there is room");
        let [start, end] = &self.ranges[slot];
        start.store(region.addresses.start, Ordering::Release);
        end.store(region.addresses.end, Ordering::Release);
        self.slots[slot] = Some(region);
    }

    /// Takes out the regions that `ended` says.
    pub fn take(&mut self, ended: impl Fn(&Region) -> bool) -> Vec<Region> {
        let mut taken = Vec::new();
        for (slot, [_, end]) in self.slots.iter_mut().zip(self.ranges) {
            if slot.as_ref().is_some_and(&ended) {
                end.store(0, Ordering::Release);
                taken.extend(slot.take());
            }
        }
        taken
    }
}
