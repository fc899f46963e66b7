//! Memory whose pages were dropped a short time ago.
//!
//! The kernel tells of `madvise(MADV_DONTNEED)` before it drops the pages. Memory that is
//! registered between the two is registered with pages that are gone a moment later. A request does
//! not concern memory that another thread gives back, but whoever registers everything may get
//! there, and so waits.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The time after which pages count as dropped. Their thread only has to run.
const WAIT: Duration = Duration::from_secs(1);
/// The number of ranges that are remembered one by one.
const MOST: usize = 4096;

/// Ranges that were emptied within the last second, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Emptied {
    recent: VecDeque<(Instant, Range<usize>)>,
}

impl Emptied {
    /// Adds a range of which an event has told.
    pub(crate) fn add(&mut self, range: Range<usize>) {
        let now = Instant::now();
        self.forget(now);
        if self.recent.len() == MOST {
            self.recent.clear();
            self.recent.push_back((now, 0..usize::MAX));
        } else {
            self.recent.push_back((now, range));
        }
    }

    /// Returns the ranges.
    pub(crate) fn ranges(&mut self) -> impl Iterator<Item = &Range<usize>> {
        self.forget(Instant::now());
        self.recent.iter().map(|(_, range)| range)
    }

    fn forget(&mut self, now: Instant) {
        let old = |(at, _): &(Instant, _)| now.duration_since(*at) >= WAIT;
        while self.recent.front().is_some_and(old) {
            self.recent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_forgotten_after_a_time_and_too_many_stand_for_all() {
        let mut emptied = Emptied::default();
        emptied.add(1..2);
        assert_eq!(emptied.ranges().count(), 1);
        emptied.forget(Instant::now() + WAIT);
        assert_eq!(emptied.ranges().count(), 0);
        (0..=MOST).for_each(|at| emptied.add(at..at + 1));
        assert!(emptied.ranges().eq([&(0..usize::MAX)]));
    }
}
