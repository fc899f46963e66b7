//! Which versions are due.

use crate::args::When;
use std::time::{Duration, Instant};
use tcasm_observer::Stamp;

/// After a failure the next attempt comes so much later at first, and at most.
const PAUSE: Duration = Duration::from_millis(500);
const MOST_PAUSE: Duration = Duration::from_secs(60);

/// Decides version by version, in the order of publishing; some may be left out.
#[derive(Debug)]
pub struct Schedule {
    when: When,
    /// Most of the time that writing may take, from 0 to 1.
    most: Option<f64>,
    /// How many multiples of the interval are past; none before the first version.
    past: Option<u64>,
    /// One is due, and was put off, or has failed.
    due: bool,
    /// When it is tried again after a failure, and how long that was waited for.
    again: Option<(Instant, Duration)>,
    /// When writing the last one began, or it all did.
    last: Instant,
    /// How long writing the last one took.
    cost: Option<Duration>,
}

impl Schedule {
    /// From `now` on; writing may take so many percent of the time.
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

    /// Whether the version is to be written: it is at a multiple of the interval, or the first after one that was left
    /// out, and not too early after the last.
    pub fn is_due(&mut self, stamp: Stamp, now: Instant) -> bool {
        let asks = self.asks(stamp, now);
        self.due |= asks;
        let rests = self.again.is_some_and(|(at, _)| now < at);
        self.due && (asks || !rests) && self.can_afford(now)
    }

    /// One was begun at `began`, and took so long.
    pub fn wrote(&mut self, began: Instant, took: Duration) {
        (self.due, self.again) = (false, None);
        self.last = began;
        self.cost = Some(took);
    }

    /// One was begun at `began`, and failed: it stays due, whenever the next would be, and is tried again after a pause.
    pub fn failed(&mut self, began: Instant) {
        let pause = self.again.map_or(PAUSE, |(_, pause)| pause * 2);
        let pause = pause.min(MOST_PAUSE);
        self.again = Some((began + pause, pause));
        self.last = began;
    }

    fn asks(&mut self, stamp: Stamp, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.last).as_secs_f64();
        if let Some(seconds) = self.when.every_seconds {
            return since >= seconds;
        }
        if let Some(mtbf) = self.when.mtbf {
            // The first tells what they cost.
            let cost = self.cost.map(|cost| cost.as_secs_f64());
            return cost.is_none_or(|cost| since >= interval(cost, mtbf) + cost);
        }
        let (at, interval) = match (self.when.every, self.when.every_steps) {
            (Some(n), _) => (stamp.version, n),
            (_, Some(n)) => (stamp.step, n),
            _ => return false,
        };
        let now = at / interval;
        match self.past.replace(now) {
            None => at.is_multiple_of(interval),
            Some(past) => now != past,
        }
    }

    fn can_afford(&self, now: Instant) -> bool {
        let Some((most, cost)) = self.most.zip(self.cost) else {
            return true;
        };
        cost.as_secs_f64() <= most * now.saturating_duration_since(self.last).as_secs_f64()
    }
}

/// The best time between the end of a checkpoint and the next, where each costs `cost` seconds and failures come every `mtbf`
/// seconds: J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation
/// Computer Systems 22 (2006), equation 37.
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

    /// The seconds at which versions are written that come every second, where writing takes so long.
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
        let when = When {
            every: Some(3),
            ..When::default()
        };
        let numbers = |n: &[u64]| n.iter().map(|n| (*n, 0)).collect::<Vec<_>>();
        assert_eq!(due(when, &numbers(&[1, 2, 3, 4, 5, 6])), [3, 6]);
        assert_eq!(due(when, &numbers(&[4, 5, 7, 8, 9, 16])), [7, 9, 16]);
        assert_eq!(due(when, &numbers(&[6, 7])), [6]);
    }

    #[test]
    fn steps_count_where_steps_were_asked_for() {
        let when = When {
            every_steps: Some(100),
            ..When::default()
        };
        let stamps = [(1, 50), (2, 100), (3, 150), (4, 200), (5, 330)];
        assert_eq!(due(when, &stamps), [2, 4, 5]);
        assert_eq!(due(When::default(), &[(1, 0), (2, 100)]), [] as [u64; 0]);
    }

    #[test]
    fn seconds_count_from_the_beginning_of_the_last_one() {
        let when = When {
            every_seconds: Some(2.5),
            ..When::default()
        };
        assert_eq!(
            seconds(when, None, Duration::from_secs(1), 12),
            [3, 6, 9, 12]
        );
    }

    #[test]
    fn what_would_take_too_much_of_the_time_is_put_off_and_not_forgotten() {
        let when = When {
            every: Some(4),
            ..When::default()
        };
        assert_eq!(
            seconds(when, None, Duration::from_secs(1), 16),
            [4, 8, 12, 16]
        );
        // One second in ten.
        let cost = Duration::from_secs(1);
        assert_eq!(seconds(when, Some(10.0), cost, 30), [4, 14, 24]);
    }

    #[test]
    fn the_interval_is_that_of_daly() {
        // 20 s a checkpoint, a failure a day: Young's first-order estimate is 1859 s.
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

    /// What is lost by an interval: writing, and on average half an interval and a write for each failure (first order).
    #[test]
    fn no_other_interval_loses_less() {
        let (cost, mtbf) = (5.0, 3600.0);
        // Daly's model of the whole run time, without the restart.
        let wall = |t: f64| (((t + cost) / mtbf).exp() - 1.0) / t;
        let best = interval(cost, mtbf);
        for factor in [0.5, 0.8, 0.95, 1.05, 1.25, 2.0] {
            assert!(wall(best) < wall(best * factor), "{factor}");
        }
    }

    #[test]
    fn what_has_failed_is_tried_again_before_the_next_is_due() {
        let hourly = When {
            every_seconds: Some(3600.0),
            ..When::default()
        };
        let daily = When {
            every: Some(100_000),
            ..When::default()
        };
        for when in [hourly, daily] {
            let start = Instant::now();
            let mut schedule = Schedule::new(when, None, start);
            let mut tried = Vec::new();
            // A version each second, of which those before the 4000th, and some later, cannot be written.
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
