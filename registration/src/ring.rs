//! Events on their way from the thread that reads them to the caches of the process.
//!
//! The reading thread must not allocate and must not wait, so the ring has a fixed size, and the
//! thread writes over the oldest events whether they were read or not. Each cache has a cursor. One
//! that falls behind learns that it missed events. Then everything counts as changed.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of events that fit.
const SIZE: usize = 1024;

/// Marks the first address of memory that is emptied. Ranges begin at pages.
const EMPTIED: u64 = 1;

/// A change of the address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Memory at these addresses is gone.
    Gone(Range<usize>),
    /// The pages at these addresses are dropped now, or were.
    Emptied(Range<usize>),
    /// The process forked.
    Forked,
    /// Events were lost: anything may have changed.
    Anything,
}

/// How far one cache has read. One thread at a time uses it.
#[derive(Debug)]
pub(crate) struct Cursor {
    at: AtomicUsize,
    lost: AtomicUsize,
}

/// A queue with one writer and any number of readers, each with a cursor.
#[derive(Debug)]
pub(crate) struct Ring {
    /// First address, with [`EMPTIED`] or without, and last address. A fork is an empty range.
    slots: Box<[[AtomicU64; 2]]>,
    written: AtomicUsize,
    /// How often events did not reach the ring.
    lost: AtomicUsize,
}

impl Ring {
    pub(crate) fn new() -> Self {
        Ring {
            slots: (0..SIZE).map(|_| Default::default()).collect(),
            written: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
        }
    }

    /// Returns a cursor for changes from now on.
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor {
            at: AtomicUsize::new(self.written.load(Ordering::Acquire)),
            lost: AtomicUsize::new(self.lost.load(Ordering::Acquire)),
        }
    }

    /// Adds memory that is gone. Only the thread that reads events calls this.
    pub(crate) fn push(&self, range: &Range<usize>) {
        self.write(range.start as u64, range.end as u64);
    }

    /// Adds memory that is emptied.
    pub(crate) fn push_emptied(&self, range: &Range<usize>) {
        self.write(range.start as u64 | EMPTIED, range.end as u64);
    }

    fn write(&self, first: u64, last: u64) {
        let at = self.written.load(Ordering::Relaxed);
        let [start, end] = &self.slots[at % SIZE];
        // Release: a reader that sees a part of this change also sees the count below it, and so
        // learns that the slot was written over.
        start.store(first, Ordering::Release);
        end.store(last, Ordering::Release);
        // Release: whoever sees the new count sees the slot.
        self.written.store(at.wrapping_add(1), Ordering::Release);
    }

    /// Adds a fork.
    pub(crate) fn push_fork(&self) {
        self.push(&(0..0));
    }

    /// Records that an event did not reach the ring.
    pub(crate) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Release);
    }

    /// Takes the next change. The caller makes sure that no other thread uses the cursor.
    pub(crate) fn pop(&self, cursor: &Cursor) -> Option<Change> {
        let lost = self.lost.load(Ordering::Acquire);
        if cursor.lost.swap(lost, Ordering::Relaxed) != lost {
            return Some(Change::Anything);
        }
        let at = cursor.at.load(Ordering::Relaxed);
        if at == self.written.load(Ordering::Acquire) {
            return None;
        }
        let [start, end] = &self.slots[at % SIZE];
        let (first, last) = (start.load(Ordering::Acquire), end.load(Ordering::Acquire));
        // The writer may be at the slot of the event that is `SIZE` behind its count.
        let written = self.written.load(Ordering::Acquire);
        if written.wrapping_sub(at) >= SIZE {
            cursor.at.store(written, Ordering::Relaxed);
            return Some(Change::Anything);
        }
        cursor.at.store(at.wrapping_add(1), Ordering::Relaxed);
        Some(decode(first, last))
    }
}

fn decode(first: u64, last: u64) -> Change {
    let range = (first & !EMPTIED) as usize..last as usize;
    match first & EMPTIED {
        _ if range.is_empty() => Change::Forked,
        0 => Change::Gone(range),
        _ => Change::Emptied(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(ring: &Ring, cursor: &Cursor) -> Vec<Change> {
        std::iter::from_fn(|| ring.pop(cursor)).collect()
    }

    #[test]
    fn each_reader_gets_all_changes_in_order() {
        let ring = Ring::new();
        let (one, other) = (ring.cursor(), ring.cursor());
        ring.push(&(2..4));
        ring.push_fork();
        ring.push_emptied(&(6..9));
        let all = [Change::Gone(2..4), Change::Forked, Change::Emptied(6..9)];
        assert_eq!(taken(&ring, &one), all);
        assert!(taken(&ring, &one).is_empty());
        assert_eq!(taken(&ring, &other), all);
        assert!(taken(&ring, &ring.cursor()).is_empty());
    }

    #[test]
    fn a_reader_that_falls_behind_learns_that_anything_may_have_changed() {
        let ring = Ring::new();
        let cursor = ring.cursor();
        for at in 0..=SIZE {
            ring.push(&(2 * at..2 * at + 1));
        }
        assert_eq!(taken(&ring, &cursor), [Change::Anything]);
        ring.push(&(6..8));
        ring.lose();
        assert_eq!(
            taken(&ring, &cursor),
            [Change::Anything, Change::Gone(6..8)]
        );
    }

    #[test]
    fn a_reader_beside_the_writer_gets_whole_changes_or_learns_that_it_missed_some() {
        const LAST: usize = 200_000;
        let ring = Ring::new();
        let cursor = ring.cursor();
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=LAST).for_each(|at| ring.push(&(2 * at..2 * at + 1))));
            let mut last = 0;
            loop {
                match ring.pop(&cursor) {
                    Some(Change::Gone(range)) => {
                        assert!(
                            range.start > last && range.len() == 1,
                            "{range:?} after {last}"
                        );
                        last = range.start;
                    }
                    Some(Change::Anything) | None => {}
                    Some(half) => panic!("half of a change was read: {half:?}"),
                }
                if cursor.at.load(Ordering::Relaxed) == LAST {
                    return;
                }
            }
        });
    }
}
