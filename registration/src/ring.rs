//! Events on their way from the thread that reads them to whoever holds the lock of the cache.
//!
//! The reading thread must not allocate and must not wait, so the ring has a fixed size. If it is
//! full, the ring only remembers that events were lost. Then everything counts as changed.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The number of events that fit.
const SIZE: usize = 1024;

/// A change of the address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Memory at these addresses is gone.
    Gone(Range<usize>),
    /// The process forked.
    Forked,
    /// Events were lost: anything may have changed.
    Anything,
}

/// A queue with one writer, and one reader at a time.
#[derive(Debug)]
pub(crate) struct Ring {
    /// First and last address. A fork is an empty range.
    slots: Box<[[AtomicU64; 2]]>,
    written: AtomicUsize,
    read: AtomicUsize,
    lost: AtomicBool,
}

impl Ring {
    pub(crate) fn new() -> Self {
        Ring {
            slots: (0..SIZE).map(|_| Default::default()).collect(),
            written: AtomicUsize::new(0),
            read: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
        }
    }

    /// Adds memory that is gone. Only the thread that reads events calls this.
    pub(crate) fn push(&self, range: &Range<usize>) {
        let at = self.written.load(Ordering::Relaxed);
        // Acquire: the reader has read the slot before it is written again.
        if at.wrapping_sub(self.read.load(Ordering::Acquire)) == SIZE {
            self.lose();
            return;
        }
        let [start, end] = &self.slots[at % SIZE];
        start.store(range.start as u64, Ordering::Relaxed);
        end.store(range.end as u64, Ordering::Relaxed);
        // Release: whoever sees the new count sees the slot.
        self.written.store(at.wrapping_add(1), Ordering::Release);
    }

    /// Adds a fork.
    pub(crate) fn push_fork(&self) {
        self.push(&(0..0));
    }

    /// Records that an event did not reach the ring.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Release);
    }

    /// Takes the next change. The caller makes sure that no other thread does so at the same time.
    pub(crate) fn pop(&self) -> Option<Change> {
        let at = self.read.load(Ordering::Relaxed);
        if at == self.written.load(Ordering::Acquire) {
            let lost = self.lost.swap(false, Ordering::AcqRel);
            return lost.then_some(Change::Anything);
        }
        let [start, end] = &self.slots[at % SIZE];
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed) as usize;
        let range = load(start)..load(end);
        self.read.store(at.wrapping_add(1), Ordering::Release);
        Some(if range.is_empty() {
            Change::Forked
        } else {
            Change::Gone(range)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_out_in_order() {
        let ring = Ring::new();
        ring.push(&(1..2));
        ring.push_fork();
        ring.push(&(3..9));
        let taken: Vec<_> = std::iter::from_fn(|| ring.pop()).collect();
        assert_eq!(taken, [Change::Gone(1..2), Change::Forked, Change::Gone(3..9)]);
    }

    #[test]
    fn a_full_ring_says_that_anything_may_have_changed_once() {
        let ring = Ring::new();
        for at in 0..=SIZE {
            ring.push(&(at..at + 1));
        }
        let taken: Vec<_> = std::iter::from_fn(|| ring.pop()).collect();
        assert_eq!(taken.len(), SIZE + 1);
        assert_eq!(taken[SIZE], Change::Anything);
        ring.push(&(7..8));
        assert_eq!(ring.pop(), Some(Change::Gone(7..8)));
        assert_eq!(ring.pop(), None);
    }

    #[test]
    fn no_change_is_lost_between_two_threads() {
        let ring = Ring::new();
        std::thread::scope(|scope| {
            scope.spawn(|| (1..100_000).for_each(|at| ring.push(&(at..at + 1))));
            let mut last = 0;
            while last < 99_999 {
                match ring.pop() {
                    Some(Change::Gone(range)) => {
                        assert!(range.start > last && range.len() == 1, "{range:?} after {last}");
                        last = range.start;
                    }
                    // The last ones may be among those that were lost.
                    Some(Change::Anything) => return,
                    Some(Change::Forked) => panic!("nobody forked"),
                    None => std::hint::spin_loop(),
                }
            }
        });
    }
}
