//! The time that the search for dropped copies may take (see [`super::dropped`]).

use std::time::{Duration, Instant};

/// The checks may take one part in `SHARE` of the run time.
const SHARE: u32 = 256;
/// The longest time that the checks of one publish may take.
const MOST: Duration = Duration::from_millis(1);

/// The chunk that is checked next, and the time that checks may take.
#[derive(Debug)]
pub(super) struct Rounds {
    pub(super) next: usize,
    credit: Duration,
    reckoned: Instant,
}

impl Rounds {
    pub(super) fn new() -> Self {
        Rounds {
            next: 0,
            credit: Duration::ZERO,
            reckoned: Instant::now(),
        }
    }

    /// Adds the time that was earned since the last check. The last check may have ended long
    /// before `now`.
    pub(super) fn earn(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.reckoned);
        self.credit = (self.credit + passed / SHARE).min(MOST);
        self.reckoned = now;
    }

    /// Subtracts the time that the check of `chunk` took. The check ended at `now`. Returns true if
    /// time is left.
    pub(super) fn spend(&mut self, chunk: usize, now: Instant) -> bool {
        let taken = now.saturating_duration_since(self.reckoned);
        self.credit = self.credit.saturating_sub(taken);
        (self.reckoned, self.next) = (now, chunk + 1);
        !self.credit.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_take_a_small_share_of_the_run_and_never_long_at_once() {
        let mut rounds = Rounds::new();
        let (mut now, mut taken) = (rounds.reckoned, Duration::ZERO);
        let (look, step) = (Duration::from_micros(4), Duration::from_millis(10));
        for _ in 0..1000 {
            now += step;
            rounds.earn(now);
            let begun = now;
            loop {
                now += look;
                if !rounds.spend(0, now) {
                    break;
                }
            }
            assert!(now - begun <= MOST + look);
            taken += now - begun;
        }
        assert!(taken <= 1000 * (step / SHARE + look), "{taken:?}");
        assert!(taken >= 1000 * step / SHARE / 2, "{taken:?}");
    }
}
