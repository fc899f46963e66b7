//! How long free slots keep their memory.
//!
//! Memory that is given back and needed again is dear: somebody pins a version for a while, again and again, as a writer of
//! checkpoints does, and each time the simulation would wait for fresh pages. So what was given back and was missed soon after
//! is kept for longer the next time, up to a bound; memory of a burst that happens once goes back at once.

/// Most looks that slots keep their memory for after they were taken, twice so many at most. With five looks a second, a minute.
const MOST: u64 = 256;
/// Memory that is needed so many looks after it was given back, or fewer, was given back too early.
const SOON: u64 = 2 * MOST;
/// Fewer pages are not worth remembering.
const WORTH: usize = 512;

/// Learns from what is given back and missed afterwards.
#[derive(Debug)]
pub(super) struct Patience {
    /// Looks so far.
    looks: u64,
    /// Looks that a window has: what was taken in this one or the last stays.
    window: u64,
    /// When this window began.
    began: u64,
    /// When memory was given back that was not missed so far.
    left: Option<u64>,
    /// Whether memory was missed already since it went back for the first time.
    missed: bool,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            looks: 0,
            window: 1,
            began: 0,
            left: None,
            missed: false,
        }
    }
}

impl Patience {
    /// Another look; whether a new window begins with it.
    pub(super) fn look(&mut self) -> bool {
        self.looks += 1;
        let ends = self.looks - self.began >= self.window;
        if ends {
            self.began = self.looks;
        }
        ends
    }

    /// Memory is given back.
    pub(super) fn leaves(&mut self) {
        // What went back before was not missed: once is enough.
        if self.left.is_some_and(|left| self.looks - left > SOON) {
            (self.window, self.missed) = (1, false);
        }
        self.left = Some(self.looks);
    }

    /// So many pages of fresh memory are needed. The first time is a burst; from the second on it is a habit.
    pub(super) fn misses(&mut self, pages: usize) {
        let Some(left) = self.left.filter(|_| pages >= WORTH) else {
            return;
        };
        self.left = None;
        let ago = self.looks - left;
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

    /// Memory that is taken every `period` looks, for a moment: how often that needs fresh memory in so many rounds.
    fn fresh(period: u64, rounds: u64) -> u64 {
        let (mut patience, mut held, mut fresh) = (Patience::default(), false, 0);
        let mut taken = [false; 2];
        for look in 0..period * rounds {
            if look % period == 0 {
                if !held {
                    patience.misses(WORTH);
                    fresh += 1;
                }
                (held, taken[0]) = (true, true);
            }
            if patience.look() {
                taken = [false, taken[0]];
            }
            if held && taken == [false; 2] {
                patience.leaves();
                held = false;
            }
        }
        fresh
    }

    #[test]
    fn what_is_needed_again_and_again_is_soon_kept() {
        for period in [3, 10, 50, 200, MOST - 1] {
            let few = fresh(period, 100);
            assert!(few <= 4, "every {period} looks: {few}");
        }
    }

    #[test]
    fn what_is_needed_now_and_then_is_not_held_all_the_time() {
        assert_eq!(fresh(SOON + 10, 20), 20);
    }

    #[test]
    fn a_burst_and_another_go_back_as_fast_as_the_first() {
        let mut patience = Patience::default();
        for _ in 0..2 {
            patience.misses(WORTH);
            (0..4).for_each(|_| assert!(patience.look(), "each look is a window"));
            patience.leaves();
        }
    }

    #[test]
    fn a_habit_that_has_ended_is_forgotten() {
        let mut patience = Patience::default();
        let looks = |patience: &mut Patience, n| {
            for _ in 0..n {
                patience.look();
            }
        };
        for _ in 0..5 {
            patience.misses(WORTH);
            patience.leaves();
            looks(&mut patience, 20);
        }
        assert!(patience.window > 16);
        looks(&mut patience, SOON + 1);
        patience.leaves();
        assert_eq!(patience.window, 1);
    }

    #[test]
    fn a_few_pages_are_no_reason() {
        let mut patience = Patience::default();
        for _ in 0..5 {
            patience.misses(WORTH - 1);
            patience.look();
            patience.leaves();
        }
        assert_eq!(patience.window, 1);
    }
}
