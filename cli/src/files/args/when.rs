//! The rules that select the versions to write.

use super::values::positive;
use clap::Args;
use tcasm_observer::Stamp;

/// An interval between writes. At most one of these is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Args)]
#[group(multiple = false)]
pub struct Interval {
    /// Write every N-th version: those whose number is a multiple of N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Write a version whenever the simulation has passed a multiple of N steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every_steps: Option<u64>,
    /// Write a version at intervals of SECONDS
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub every_seconds: Option<f64>,
}

impl Interval {
    /// Returns how many versions between `before` and `now` were due. None of them was seen.
    ///
    /// Of the multiples of steps that were passed, the last is that of `now`, which is written for
    /// it. At intervals of time any version will do, so none is due before it is seen.
    pub fn due_between(&self, before: Stamp, now: Stamp) -> u64 {
        let unseen = now.version.saturating_sub(before.version + 1);
        let passed = |from: u64, to: u64, n: u64| (to / n).saturating_sub(from / n);
        let due = match (self.every, self.every_steps) {
            (Some(n), _) => passed(before.version, before.version + unseen, n),
            (_, Some(n)) => passed(before.step, now.step, n).saturating_sub(1),
            _ => 0,
        };
        due.min(unseen)
    }
}

/// When checkpoints are written. One more is always written when the simulation ends, on SIGUSR1
/// and on SIGTERM.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(
    required = true,
    multiple = false,
    args = ["every", "every_steps", "every_seconds", "mtbf", "last"]
)]
pub struct When {
    #[command(flatten)]
    pub interval: Interval,
    /// Write versions at the interval that loses the least time if the mean time between failures
    /// is SECONDS. The interval follows from the time that writing takes, by Daly's formula
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub mtbf: Option<f64>,
    /// Write only the last version, when the simulation has ended
    #[arg(long)]
    pub last: bool,
}

impl From<Interval> for When {
    fn from(interval: Interval) -> Self {
        When {
            interval,
            ..When::default()
        }
    }
}
