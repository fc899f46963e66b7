//! Which versions are due.

use crate::args::When;
use tcasm_observer::Stamp;

/// Decides version by version, in the order of publishing; some may be left out.
#[derive(Debug)]
pub struct Schedule {
    when: When,
    /// How many multiples of the interval are past; none before the first version.
    past: Option<u64>,
}

impl Schedule {
    pub fn new(when: When) -> Self {
        Schedule { when, past: None }
    }

    /// Whether the version is to be written: it is at a multiple of the interval, or the first after one that was left
    /// out.
    pub fn is_due(&mut self, stamp: Stamp) -> bool {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(when: When, stamps: &[(u64, u64)]) -> Vec<u64> {
        let mut schedule = Schedule::new(when);
        let stamps = stamps.iter().map(|(version, step)| Stamp {
            version: *version,
            step: *step,
            time: 0.0,
        });
        stamps
            .filter(|s| schedule.is_due(*s))
            .map(|s| s.version)
            .collect()
    }

    const NEVER: When = When {
        every: None,
        every_steps: None,
        last: true,
    };

    #[test]
    fn every_third_version_is_due_and_the_one_after_a_gap() {
        let when = When {
            every: Some(3),
            ..NEVER
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
            ..NEVER
        };
        assert_eq!(
            due(when, &[(1, 50), (2, 100), (3, 150), (4, 200), (5, 330)]),
            [2, 4, 5]
        );
        assert_eq!(due(NEVER, &[(1, 0), (2, 100)]), [] as [u64; 0]);
    }
}
