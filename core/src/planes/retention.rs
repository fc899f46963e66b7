//! How long free frames keep their memory.
//!
//! To return memory that is needed again soon is expensive. A writer of checkpoints, for example,
//! pins a version for a while, again and again, and each time the simulation would wait for fresh
//! pages. So memory that was returned and needed again soon is kept for longer the next time, up to
//! a limit. Memory of a burst that happens once is returned at once.

use crate::testing::ablation::{Mechanism, without};

/// The largest number of scans in a window. Frames keep their memory for one to two windows after
/// they were taken. With five scans a second, the largest window is about a minute.
const MOST: u64 = 256;
/// The number of scans in every window where windows are not learnt, about a second.
const FIXED: u64 = 5;
/// Memory was returned too early if it is needed again within this many scans.
const SOON: u64 = 2 * MOST;
/// A need for fewer pages than this is ignored.
const WORTH: usize = 512;

/// The length of a window of scans, which adapts to how soon returned memory is needed again.
#[derive(Debug)]
pub(super) struct Retention {
    /// The number of scans so far.
    scans: u64,
    /// The number of scans in a window. Frames that were taken in this window or in the last one
    /// keep their memory.
    window: u64,
    /// The scan at which this window began.
    began: u64,
    /// The scan at which memory was last returned, if it has not been needed since.
    returned: Option<u64>,
    /// True if returned memory was already needed again once.
    missed: bool,
}

impl Default for Retention {
    fn default() -> Self {
        Retention {
            scans: 0,
            window: 1,
            began: 0,
            returned: None,
            missed: false,
        }
    }
}

impl Retention {
    /// Counts a scan. Returns true if a new window begins with it.
    pub(super) fn scan(&mut self) -> bool {
        self.scans += 1;
        let window = match without(Mechanism::Windows) {
            true => FIXED,
            false => self.window,
        };
        let ends = self.scans - self.began >= window;
        if ends {
            self.began = self.scans;
        }
        ends
    }

    /// Records that memory is returned.
    pub(super) fn leaves(&mut self) {
        // The memory that was returned last time has not been needed for long, so the habit has
        // ended.
        if self
            .returned
            .is_some_and(|returned| self.scans - returned > SOON)
        {
            (self.window, self.missed) = (1, false);
        }
        self.returned = Some(self.scans);
    }

    /// Records that `pages` pages of fresh memory are needed. The first time is taken for a burst.
    /// From the second time on, the window grows.
    pub(super) fn misses(&mut self, pages: usize) {
        let Some(returned) = self.returned.filter(|_| pages >= WORTH) else {
            return;
        };
        self.returned = None;
        let ago = self.scans - returned;
        if ago > SOON {
            self.missed = false;
        } else if std::mem::replace(&mut self.missed, true) {
            self.window = (self.window + ago + 1).next_power_of_two().min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how often fresh memory is needed, if memory is used for a moment every `period`
    /// scans, `rounds` times.
    fn fresh(period: u64, rounds: u64) -> u64 {
        let (mut retention, mut held, mut fresh) = (Retention::default(), false, 0);
        let mut taken = [false; 2];
        for scan in 0..period * rounds {
            if scan % period == 0 {
                if !held {
                    retention.misses(WORTH);
                    fresh += 1;
                }
                (held, taken[0]) = (true, true);
            }
            if retention.scan() {
                taken = [false, taken[0]];
            }
            if held && taken == [false; 2] {
                retention.leaves();
                held = false;
            }
        }
        fresh
    }

    #[test]
    fn memory_that_is_needed_regularly_is_soon_kept() {
        for period in [3, 10, 50, 200, MOST - 1] {
            let few = fresh(period, 100);
            assert!(few <= 4, "every {period} scans: {few}");
        }
    }

    #[test]
    fn memory_that_is_needed_rarely_is_returned_each_time() {
        assert_eq!(fresh(SOON + 10, 20), 20);
    }

    #[test]
    fn memory_of_a_second_burst_is_returned_as_soon_as_of_the_first() {
        let mut retention = Retention::default();
        for _ in 0..2 {
            retention.misses(WORTH);
            (0..4).for_each(|_| assert!(retention.scan(), "each scan is a window"));
            retention.leaves();
        }
    }

    #[test]
    fn window_shrinks_when_memory_is_no_longer_needed_regularly() {
        let mut retention = Retention::default();
        let scans = |retention: &mut Retention, n| {
            for _ in 0..n {
                retention.scan();
            }
        };
        for _ in 0..5 {
            retention.misses(WORTH);
            retention.leaves();
            scans(&mut retention, 20);
        }
        assert!(retention.window > 16);
        scans(&mut retention, SOON + 1);
        retention.leaves();
        assert_eq!(retention.window, 1);
    }

    #[test]
    fn needing_few_pages_does_not_lengthen_the_window() {
        let mut retention = Retention::default();
        for _ in 0..5 {
            retention.misses(WORTH - 1);
            retention.scan();
            retention.leaves();
        }
        assert_eq!(retention.window, 1);
    }

    #[cfg(feature = "ablation")]
    #[test]
    fn without_learning_memory_that_is_needed_regularly_is_returned_each_time() {
        assert!(fresh(50, 100) <= 4);
        let _left = crate::testing::ablation::leave_out(Mechanism::Windows);
        assert_eq!(fresh(50, 100), 100);
        assert_eq!(fresh(FIXED, 100), 1);
    }
}
