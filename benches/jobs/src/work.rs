//! When each rank publishes each step.
//!
//! A step of a rank begins when the rank and its six neighbours on a torus have ended the step
//! before. This recurrence is exact for codes that exchange halos each step. Publishing takes no
//! time, and waits for nobody (G4), so the times do not depend on agents.

use crate::Nanos;
use crate::random::Random;
use std::collections::VecDeque;

/// The work of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The ranks in each direction of the torus.
    pub shape: [usize; 3],
    /// Ranks wait for their neighbours.
    pub coupled: bool,
    /// The time of a step of the fastest rank without noise.
    pub step: Nanos,
    /// How much longer the steps of the slowest rank are, as a part of the step.
    pub imbalance: f64,
    /// The mean of the exponential noise, as a part of the step.
    pub noise: f64,
    /// The probability that a step takes one more step's time.
    pub stall: f64,
    /// All ranks wait for each other after each so many steps, or never if it is 0.
    pub reduce_every: u64,
}

impl Work {
    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The times when ranks publish steps. They are computed when they are asked for.
pub struct Timeline {
    work: Work,
    random: Random,
    /// The time of a step of each rank, without noise.
    own: Vec<f64>,
    /// The first step in `rows`.
    first: u64,
    /// The times of each step.
    rows: VecDeque<Vec<Nanos>>,
    last: u64,
    /// No rank publishes after this.
    cut: Nanos,
}

impl Timeline {
    /// Returns the times of steps `first..=last` of a simulation that starts at `start`.
    pub fn new(work: Work, seed: u64, start: Nanos, first: u64, last: u64) -> Timeline {
        let mut random = Random::new(seed);
        let step = work.step as f64;
        let own = |random: &mut Random| step * (1.0 + work.imbalance * random.unit());
        Timeline {
            own: (0..work.ranks()).map(|_| own(&mut random)).collect(),
            rows: VecDeque::from([vec![start; work.ranks()]]),
            first: first - 1,
            work,
            random,
            last,
            cut: Nanos::MAX,
        }
    }

    /// Stops all ranks at this time.
    pub fn cut(&mut self, at: Nanos) {
        self.cut = self.cut.min(at);
    }

    /// Returns the time when a rank publishes a step, or the end of time if it never does.
    pub fn at(&mut self, rank: usize, step: u64) -> Nanos {
        if step > self.last {
            return Nanos::MAX;
        }
        while self.first + self.rows.len() as u64 <= step {
            self.compute();
        }
        match self.rows[(step - self.first) as usize][rank] {
            at if at <= self.cut => at,
            _ => Nanos::MAX,
        }
    }

    /// Returns the time when the last rank publishes the last step, unless it was cut before.
    pub fn end(&mut self) -> Nanos {
        let ranks = 0..self.work.ranks();
        ranks
            .map(|rank| self.at(rank, self.last))
            .max()
            .unwrap_or(0)
    }

    /// Forgets the times of steps before this one, which must not be asked for again.
    pub fn forget_before(&mut self, step: u64) {
        while self.first < step && self.rows.len() > 1 {
            self.rows.pop_front();
            self.first += 1;
        }
    }

    /// Computes the times of one more step.
    fn compute(&mut self) {
        let before = self.rows.back().expect("the row of the step before");
        let ranks = 0..before.len();
        let mut row: Vec<Nanos> = ranks.map(|rank| self.begin(before, rank)).collect();
        let step = self.work.step as f64;
        for (end, own) in row.iter_mut().zip(&self.own) {
            let noise = self.random.exponential(self.work.noise * step);
            let stall = f64::from(self.random.chance(self.work.stall)) * step;
            *end += (own + noise + stall) as Nanos;
        }
        let number = self.first + self.rows.len() as u64;
        if self.work.reduce_every > 0 && number.is_multiple_of(self.work.reduce_every) {
            let all = row.iter().copied().max().unwrap_or(0);
            row.fill(all);
        }
        self.rows.push_back(row);
    }

    /// Returns the time when a rank can begin the step after `before`.
    fn begin(&self, before: &[Nanos], rank: usize) -> Nanos {
        if !self.work.coupled {
            return before[rank];
        }
        let [_, ny, nz] = self.work.shape;
        let strides = [ny * nz, nz, 1];
        let mut begin = before[rank];
        for (stride, n) in strides.into_iter().zip(self.work.shape) {
            let place = rank / stride % n;
            let base = rank - place * stride;
            for neighbour in [(place + 1) % n, (place + n - 1) % n] {
                begin = begin.max(before[base + neighbour * stride]);
            }
        }
        begin
    }
}
