//! The results of pairs of runs of a kernel: one in plain memory, the other in the memory under
//! test.

use super::super::bar::{Bar, Unit};
use super::MOST_OUTSIDE;
use super::state::State;
use super::work::Kernel;
use crate::faults::minor_faults;
use crate::samples::Samples;
use std::time::{Duration, Instant};

/// The costs of a call.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// The time that it took.
    pub(super) time: Duration,
    /// The page faults meanwhile.
    pub(super) faults: i64,
}

impl Cost {
    /// Makes the call, and returns its costs and its result.
    pub(super) fn of<R>(call: impl FnOnce() -> R) -> (Cost, R) {
        let (start, before) = (Instant::now(), minor_faults());
        let result = call();
        let (time, faults) = (start.elapsed(), minor_faults() - before);
        (Cost { time, faults }, result)
    }
}

/// The times of single page faults in the memory under test, in nanoseconds.
#[derive(Default)]
pub(super) struct FaultTimes(Samples);

impl FaultTimes {
    /// Adds the time by which a call took longer than in plain memory, for each fault that it had
    /// more.
    pub(super) fn add(&mut self, plain: Cost, other: Cost) {
        let faults = other.faults - plain.faults;
        if faults > 0 {
            let ns = other.time.as_nanos() as f64 - plain.time.as_nanos() as f64;
            self.0.add_ns(ns / faults as f64);
        }
    }

    /// Returns the median, 0 if no fault was seen.
    pub(super) fn median(&self) -> f64 {
        match self.0.is_empty() {
            true => 0.0,
            false => self.0.median(),
        }
    }

    /// Returns the bar that shows the times, if there are any.
    pub(super) fn bar(&self, state: State) -> Option<Bar> {
        let what = format!("{}: the first store to a page", state.what());
        (!self.0.is_empty()).then(|| Bar::limit(&what, &self.0))
    }
}

/// The results of the pairs of one kernel or of several.
#[derive(Default)]
pub(super) struct Pairs {
    /// Times in plain memory.
    plain: Samples,
    /// Times in the memory under test, in times of plain memory.
    ratios: Samples,
    /// The same without the time of page faults.
    without_faults: Samples,
    /// Page faults of a run in the memory under test.
    faults: Samples,
    /// The part of the memory under test that is in huge pages.
    huge: Samples,
    /// The part of the plain memory that is not.
    not_huge: Samples,
}

impl Pairs {
    /// Adds a pair. A page fault takes `fault` nanoseconds.
    pub(super) fn add(&mut self, plain: Cost, other: Cost, fault: f64) {
        let times = [plain, other].map(|cost| cost.time.as_nanos() as f64);
        let faults = other.faults as f64;
        self.plain.add(plain.time);
        self.ratios.add_value(times[1] / times[0]);
        self.without_faults
            .add_value((times[1] - faults * fault) / times[0]);
        self.faults.add_value(faults);
    }

    /// Adds the parts of the memories that were in huge pages after a pair.
    pub(super) fn add_huge_parts(&mut self, plain: f64, other: f64) {
        self.not_huge.add_value(1.0 - plain);
        self.huge.add_value(other);
    }

    /// Adds all huge pages of `more`.
    pub(super) fn extend_huge_parts(&mut self, more: &Pairs) {
        self.not_huge.extend(&more.not_huge);
        self.huge.extend(&more.huge);
    }

    /// Returns the bars of a kernel. The limit of a kernel that writes holds besides its page
    /// faults, if steps write few pages.
    pub(super) fn bars(&self, kernel: Kernel, state: State) -> Vec<Bar> {
        let mut bars = Vec::new();
        let (name, what) = (kernel.name(), state.what());
        if state == State::SmallPages {
            let what = format!("{name}: 64 MiB of plain memory with huge pages");
            bars.push(Bar::limit(&what, &self.plain));
        }
        let besides = kernel.writes() && state == State::Sparse;
        let limit = state.bar().filter(|_| !besides);
        let ratio = format!("{name}: {what}, in times of plain memory with huge pages");
        bars.push(Bar::ratios(&ratio, &self.ratios, limit));
        if besides {
            let ratio = format!("{ratio}, without its page faults");
            bars.push(Bar::ratios(&ratio, &self.without_faults, state.bar()));
        }
        if kernel.writes() {
            let faults = format!("{name}: {what}: page faults in a run");
            bars.push(Bar {
                unit: Unit::Count,
                ..Bar::ratios(&faults, &self.faults, None)
            });
        }
        bars
    }

    /// Returns the bars that show where the memories had huge pages. A limit shows that the plain
    /// memory was what it should be.
    pub(super) fn huge_bars(&self, state: State) -> [Bar; 2] {
        let what = state.what();
        let huge = format!("{what}: the part in huge pages");
        let control = format!("{what}: the part of the plain memory that is not in huge pages");
        [
            Bar::ratios(&huge, &self.huge, None),
            Bar::ratios(&control, &self.not_huge, Some(MOST_OUTSIDE)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(ms: u64, faults: i64) -> Cost {
        let time = Duration::from_millis(ms);
        Cost { time, faults }
    }

    #[test]
    fn sparse_writes_are_limited_besides_their_page_faults() {
        let mut times = FaultTimes::default();
        times.add(cost(1, 0), cost(3, 2000));
        assert_eq!(times.median(), 1000.0);
        let mut pairs = Pairs::default();
        pairs.add(cost(10, 0), cost(12, 1000), times.median());
        let bars = pairs.bars(Kernel::Scatter, State::Sparse);
        let values: Vec<_> = bars.iter().map(|bar| (bar.seen, bar.bar)).collect();
        assert_eq!(
            values,
            [(1.2, None), (1.1, Some(1.1)), (1000.0, None)],
            "ratio, without faults, faults"
        );
    }

    #[test]
    fn runs_without_faults_have_no_time_for_one() {
        let mut times = FaultTimes::default();
        times.add(cost(1, 5), cost(2, 5));
        assert_eq!(times.median(), 0.0);
        assert!(times.bar(State::Sparse).is_none());
        let mut pairs = Pairs::default();
        pairs.add(cost(10, 0), cost(12, 0), times.median());
        let bars = pairs.bars(Kernel::Gather, State::Sparse);
        assert_eq!((bars.len(), bars[0].seen, bars[0].bar), (1, 1.2, Some(1.1)));
    }

    #[test]
    fn plain_memory_without_huge_pages_misses_its_limit() {
        let mut pairs = Pairs::default();
        pairs.add_huge_parts(0.5, 0.25);
        let [field, plain] = pairs.huge_bars(State::Fresh);
        assert_eq!((field.seen, field.met()), (0.25, true));
        assert_eq!((plain.seen, plain.met()), (0.5, false));
    }
}
