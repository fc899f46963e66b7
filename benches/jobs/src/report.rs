//! The results of a simulated job.

use crate::Nanos;
use crate::failures::Loss;

/// The mean and the greatest of some numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    count: u64,
    sum: f64,
    /// The greatest number.
    pub most: f64,
}

impl Spread {
    /// Adds a number.
    pub fn add(&mut self, number: f64) {
        self.count += 1;
        self.sum += number;
        self.most = self.most.max(number);
    }

    /// Returns the mean, or 0 without numbers.
    pub fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

/// The results of a simulated job.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of nodes.
    pub nodes: usize,
    /// The steps that were agreed, in the order of decisions.
    pub agreed: Vec<u64>,
    /// The number of steps of the simulation.
    pub steps: u64,
    /// The steps that the fastest rank was ahead of a step when it was agreed.
    pub lag: Spread,
    /// The time from the moment when the last rank published a step to the decision.
    pub delay: Spread,
    /// The versions that an agent has pinned in each rank.
    pub pinned: Spread,
    /// The appointments that were kept, and those that were missed.
    pub appointments: [u64; 2],
    /// The number of rounds.
    pub rounds: u64,
    /// How long rounds took, as each agent sees it.
    pub round_times: Vec<Nanos>,
    /// The consequences of failures.
    pub losses: Vec<Loss>,
    /// The virtual time at the end.
    pub end: Nanos,
}

impl Report {
    /// Returns the part of all steps that was agreed.
    pub fn share(&self) -> f64 {
        let mut agreed = self.agreed.clone();
        agreed.sort_unstable();
        agreed.dedup();
        agreed.len() as f64 / self.steps.max(1) as f64
    }

    /// Returns the median time of a round.
    pub fn median_round(&self) -> Nanos {
        let mut times = self.round_times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or(0)
    }
}
