//! Decides which versions are due to be written.

use crate::files::args::{Interval, When};
use std::time::{Duration, Instant};
use tcasm_observer::Stamp;

/// The pause after a first failure. It doubles with each further failure in a row.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause after a failure.
const MOST_PAUSE: Duration = Duration::from_secs(60);

/// Decides for each version whether to write it. Versions must come in the order in which they were
/// published; some may be missing.
#[derive(Debug)]
pub struct Schedule {
    when: When,
    /// The largest share of the time that writing may take, from 0 to 1.
    most: Option<f64>,
    /// The number of multiples of the interval that have passed. `None` before the first version.
    past: Option<u64>,
    /// True if a write is due that was delayed or has failed.
    due: bool,
    /// After a failure: the time of the next attempt, and the pause before it.
    again: Option<(Instant, Duration)>,
    /// The time when the last write began, or when the schedule was created.
    last: Instant,
    /// The duration of the last successful write.
    cost: Option<Duration>,
}

impl Schedule {
    /// Creates a schedule that starts at `now`. Writing may take at most `max_overhead` percent of
    /// the time.
    pub fn new(when: When, max_overhead: Option<f64>, now: Instant) -> Self {
        Schedule {
            when,
            most: max_overhead.map(|percent| percent / 100.0),
            past: None,
            due: false,
            again: None,
            last: now,
            cost: None,
        }
    }

    /// Returns true if the version is to be written. It must be at a multiple of the interval, or
    /// be the first one after a multiple that was missed, delayed or failed. The limit of the
    /// overhead and the pause after a failure may delay it.
    pub fn is_due(&mut self, stamp: Stamp, now: Instant) -> bool {
        let asks = self.asks(stamp, now);
        self.due |= asks;
        let pauses = self.again.is_some_and(|(at, _)| now < at);
        self.due && (asks || !pauses) && self.can_afford(now)
    }

    /// Records a successful write that began at `began` and took `took`.
    pub fn wrote(&mut self, began: Instant, took: Duration) {
        (self.due, self.again) = (false, None);
        self.last = began;
        self.cost = Some(took);
    }

    /// Records a write that began at `began` and failed. It stays due and is tried again after a
    /// pause, even if the next interval has not passed by then.
    pub fn failed(&mut self, began: Instant) {
        let pause = self.again.map_or(PAUSE, |(_, pause)| pause * 2);
        let pause = pause.min(MOST_PAUSE);
        self.again = Some((began + pause, pause));
        self.last = began;
    }

    /// Returns true if the interval has passed at this version.
    fn asks(&mut self, stamp: Stamp, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.last).as_secs_f64();
        let Interval {
            every,
            every_steps,
            every_seconds,
        } = self.when.interval;
        if let Some(seconds) = every_seconds {
            return since >= seconds;
        }
        if let Some(mtbf) = self.when.mtbf {
            // Write the first one at once, to measure the cost.
            let cost = self.cost.map(|cost| cost.as_secs_f64());
            return cost.is_none_or(|cost| since >= interval(cost, mtbf) + cost);
        }
        match (every, every_steps) {
            (Some(n), _) => self.passes(stamp.version, n),
            (_, Some(n)) => self.passes(stamp.step, n),
            _ => false,
        }
    }

    /// Returns true if a multiple of `n` was reached since the last call. In the first call, `at`
    /// itself must be one.
    fn passes(&mut self, at: u64, n: u64) -> bool {
        let now = at / n;
        match self.past.replace(now) {
            None => at.is_multiple_of(n),
            Some(past) => now != past,
        }
    }

    /// Returns true if writing now stays within the limit of the overhead.
    fn can_afford(&self, now: Instant) -> bool {
        let Some((most, cost)) = self.most.zip(self.cost) else {
            return true;
        };
        cost.as_secs_f64() <= most * now.saturating_duration_since(self.last).as_secs_f64()
    }
}

/// Returns the best time between the end of a checkpoint and the beginning of the next, in seconds.
/// A checkpoint costs `cost` seconds, and the mean time between failures is `mtbf` seconds. The
/// formula is equation 37 of J. T. Daly, "A higher order estimate of the optimum checkpoint
/// interval for restart dumps", Future Generation Computer Systems 22 (2006).
fn interval(cost: f64, mtbf: f64) -> f64 {
    if cost >= 2.0 * mtbf {
        return mtbf;
    }
    let ratio = cost / (2.0 * mtbf);
    (2.0 * cost * mtbf).sqrt() * (1.0 + ratio.sqrt() / 3.0 + ratio / 9.0) - cost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(version: u64, step: u64) -> Stamp {
        Stamp {
            version,
            step,
            time: 0.0,
        }
    }

    fn due(when: When, stamps: &[(u64, u64)]) -> Vec<u64> {
        let now = Instant::now();
        let mut schedule = Schedule::new(when, None, now);
        let mut written = Vec::new();
        for (version, step) in stamps {
            if schedule.is_due(stamp(*version, *step), now) {
                schedule.wrote(now, Duration::ZERO);
                written.push(*version);
            }
        }
        written
    }

    /// Returns the seconds at which a version is written. A version comes every second, and writing
    /// one takes `cost`.
    fn seconds(when: When, max_overhead: Option<f64>, cost: Duration, end: u64) -> Vec<u64> {
        let start = Instant::now();
        let mut schedule = Schedule::new(when, max_overhead, start);
        let mut written = Vec::new();
        for second in 1..=end {
            let now = start + Duration::from_secs(second);
            if schedule.is_due(stamp(second, second), now) {
                schedule.wrote(now, cost);
                written.push(second);
            }
        }
        written
    }

    #[test]
    fn every_third_version_is_due_and_the_one_after_a_gap() {
        let when = When::from(Interval {
            every: Some(3),
            ..Interval::default()
        });
        let numbers = |n: &[u64]| n.iter().map(|n| (*n, 0)).collect::<Vec<_>>();
        assert_eq!(due(when, &numbers(&[1, 2, 3, 4, 5, 6])), [3, 6]);
        assert_eq!(due(when, &numbers(&[4, 5, 7, 8, 9, 16])), [7, 9, 16]);
        assert_eq!(due(when, &numbers(&[6, 7])), [6]);
    }

    #[test]
    fn step_interval_counts_steps_not_versions() {
        let when = When::from(Interval {
            every_steps: Some(100),
            ..Interval::default()
        });
        let stamps = [(1, 50), (2, 100), (3, 150), (4, 200), (5, 330)];
        assert_eq!(due(when, &stamps), [2, 4, 5]);
        assert_eq!(due(When::default(), &[(1, 0), (2, 100)]), [] as [u64; 0]);
    }

    #[test]
    fn seconds_count_from_the_beginning_of_the_last_write() {
        let when = When::from(Interval {
            every_seconds: Some(2.5),
            ..Interval::default()
        });
        assert_eq!(
            seconds(when, None, Duration::from_secs(1), 12),
            [3, 6, 9, 12]
        );
    }

    #[test]
    fn write_over_the_overhead_limit_is_delayed_and_not_lost() {
        let when = When::from(Interval {
            every: Some(4),
            ..Interval::default()
        });
        assert_eq!(
            seconds(when, None, Duration::from_secs(1), 16),
            [4, 8, 12, 16]
        );
        // One second in ten.
        let cost = Duration::from_secs(1);
        assert_eq!(seconds(when, Some(10.0), cost, 30), [4, 14, 24]);
    }

    #[test]
    fn mtbf_interval_follows_daly() {
        // 20 s per checkpoint, one failure per day: Young's first-order estimate is 1859 s.
        let best = interval(20.0, 86_400.0);
        assert!((1840.0..1850.0).contains(&best), "{best}");
        assert_eq!(interval(500.0, 100.0), 100.0);
        let when = When {
            mtbf: Some(200.0),
            ..When::default()
        };
        // sqrt(2 * 1 * 200) is 20.
        let written = seconds(when, None, Duration::from_secs(1), 70);
        assert_eq!(written, [1, 22, 43, 64]);
    }

    /// An interval loses the time of writing, and for each failure on average half an interval and
    /// a write (to first order).
    #[test]
    fn other_intervals_lose_more_time() {
        let (cost, mtbf) = (5.0, 3600.0);
        // Daly's model of the whole run time, without the restart.
        let wall = |t: f64| (((t + cost) / mtbf).exp() - 1.0) / t;
        let best = interval(cost, mtbf);
        for factor in [0.5, 0.8, 0.95, 1.05, 1.25, 2.0] {
            assert!(wall(best) < wall(best * factor), "{factor}");
        }
    }

    #[test]
    fn failed_write_is_tried_again_before_the_next_is_due() {
        let hourly = When::from(Interval {
            every_seconds: Some(3600.0),
            ..Interval::default()
        });
        let daily = When::from(Interval {
            every: Some(100_000),
            ..Interval::default()
        });
        for when in [hourly, daily] {
            let start = Instant::now();
            let mut schedule = Schedule::new(when, None, start);
            let mut tried = Vec::new();
            // One version per second. Those before the 4000th, and some later ones, fail.
            let later = 100_000..104_000;
            for second in 0..200_000u64 {
                let now = start + Duration::from_secs(second);
                if schedule.is_due(stamp(second, second), now) {
                    tried.push(second);
                    match second < 4000 || later.contains(&second) {
                        true => schedule.failed(now),
                        false => schedule.wrote(now, Duration::from_secs(1)),
                    }
                }
            }
            let pauses: Vec<u64> = tried.windows(2).map(|t| t[1] - t[0]).collect();
            assert!(
                pauses.starts_with(&[1, 1, 2, 4, 8, 16, 32, 60, 60]),
                "{pauses:?}"
            );
            let again: Vec<u64> = tried
                .iter()
                .copied()
                .filter(|t| later.contains(t))
                .collect();
            assert_eq!(again[1] - again[0], 1, "a pause is short at first");
            let written: Vec<u64> = tried.into_iter().filter(|t| *t >= 4000).collect();
            assert!(written[0] < 4060, "{written:?}");
            assert!(
                written[1] - written[0] >= 3600,
                "then as before: {written:?}"
            );
        }
    }
}
