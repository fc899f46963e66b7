//! The versions that were due, but were not seen: reclaimed before, or never visible.

use crate::files::args::Interval;
use tcasm_observer::Stamp;

/// The number of gaps that are told one by one.
const TOLD: usize = 3;

/// Versions that follow each other, none of which was seen, although some of them were due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    /// The number of versions that were due.
    due: u64,
    /// The first and the last version that was not seen.
    versions: (u64, u64),
    /// The steps of the versions before and after the gap, which were seen.
    steps: (u64, u64),
}

impl Gap {
    /// Returns the gap between two versions that were seen one after the other, if a version
    /// between them was due.
    fn between(before: Stamp, now: Stamp, interval: Interval) -> Option<Gap> {
        let due = interval.due_between(before, now);
        (due != 0).then_some(Gap {
            due,
            versions: (before.version + 1, now.version - 1),
            steps: (before.step, now.step),
        })
    }

    fn text(&self) -> String {
        let (first, last) = self.versions;
        let versions = match self.due {
            1 if first == last => format!("version {first}"),
            due if due == last - first + 1 => format!("versions {first} to {last}"),
            due => format!("{due} of the versions {first} to {last}"),
        };
        let (before, after) = self.steps;
        format!("missing: {versions}, between steps {before} and {after}")
    }
}

/// Counts the versions that are missing.
#[derive(Debug, Default)]
pub struct Missed {
    /// The last version that was seen.
    seen: Option<Stamp>,
    /// The first gaps.
    gaps: Vec<Gap>,
    /// The number of further gaps, and the last of them.
    more: (u64, Option<Gap>),
    /// The number of versions in all gaps that were due.
    pub due: u64,
}

impl Missed {
    /// Notes the next version that was seen, of those that `interval` selects from.
    pub fn see(&mut self, now: Stamp, interval: Interval) {
        let before = self.seen.replace(now);
        let Some(gap) = before.and_then(|before| Gap::between(before, now, interval)) else {
            return;
        };
        self.due += gap.due;
        match self.gaps.len() < TOLD {
            true => self.gaps.push(gap),
            false => self.more = (self.more.0 + 1, Some(gap)),
        }
    }

    /// Returns a line for each of the first gaps, and one for all others.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.gaps.iter().map(Gap::text).collect();
        lines.extend(match self.more {
            (_, None) => None,
            (1, Some(gap)) => Some(gap.text()),
            (n, Some(gap)) => Some(format!(
                "missing: in {n} more places, the last up to step {}",
                gap.steps.1
            )),
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is missing if these versions are seen. Each is of ten times its number in
    /// steps.
    fn missed(interval: Interval, seen: &[u64]) -> Missed {
        let mut missed = Missed::default();
        for &version in seen {
            let stamp = Stamp {
                version,
                step: version * 10,
                time: 0.0,
            };
            missed.see(stamp, interval);
        }
        missed
    }

    fn every(n: u64) -> Interval {
        Interval {
            every: Some(n),
            ..Interval::default()
        }
    }

    #[test]
    fn only_versions_that_were_due_are_missing() {
        let found = missed(every(1), &[3, 4, 7, 8]);
        assert_eq!(found.due, 2);
        assert_eq!(
            found.lines(),
            ["missing: versions 5 to 6, between steps 40 and 70"]
        );
        let found = missed(every(5), &[3, 4, 6, 12, 14, 16]);
        assert_eq!(found.due, 3, "5, 10 and 15");
        assert_eq!(
            found.lines(),
            [
                "missing: version 5, between steps 40 and 60",
                "missing: 1 of the versions 7 to 11, between steps 60 and 120",
                "missing: version 15, between steps 140 and 160"
            ]
        );
        let found = missed(every(5), &[1, 4, 5, 6, 9, 10]);
        assert_eq!((found.due, found.lines().len()), (0, 0));
    }

    #[test]
    fn version_that_is_written_for_a_multiple_of_steps_is_not_missing() {
        let steps = Interval {
            every_steps: Some(50),
            ..Interval::default()
        };
        // Multiples are reached by versions 5, 10, 15, ...
        assert_eq!(missed(steps, &[1, 4, 7, 12, 14]).due, 0);
        let found = missed(steps, &[4, 16]);
        assert_eq!(
            found.lines(),
            ["missing: 2 of the versions 5 to 15, between steps 40 and 160"]
        );
        // The simulation passes several multiples at once, and nothing is missing.
        let often = Interval {
            every_steps: Some(3),
            ..Interval::default()
        };
        assert_eq!(missed(often, &[1, 2, 3]).due, 0);
        assert_eq!(missed(often, &[1, 3]).due, 1);
    }

    #[test]
    fn versions_at_intervals_of_time_are_never_missing() {
        let seconds = Interval {
            every_seconds: Some(1.0),
            ..Interval::default()
        };
        assert_eq!(missed(seconds, &[1, 100, 1000]).due, 0);
    }

    #[test]
    fn many_gaps_take_few_lines() {
        let seen: Vec<u64> = (1..=1000).map(|n| 2 * n).collect();
        let found = missed(every(1), &seen);
        assert_eq!((found.due, found.lines().len()), (999, 4));
        assert_eq!(
            found.lines()[3],
            "missing: in 996 more places, the last up to step 20000"
        );
        let found = missed(every(1), &seen[..5]);
        assert_eq!(
            found.lines()[3],
            "missing: version 9, between steps 80 and 100"
        );
    }
}
