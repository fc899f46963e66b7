//! The speed of computing in a field, compared with plain memory.
//!
//! The same kernels run over the same values in plain memory with huge pages and in a field, one
//! after the other. Between two such pairs, the field is brought into the state that is measured.
//! Every version is visible before a kernel starts, so no capture runs beside it. After each pair,
//! the kernel says how much of both memories is in huge pages, which explains a slow state.

mod memory;
mod pairs;
mod region;
mod state;
mod work;

use super::bar::{Bar, Unit};
use crate::workload::{PAGE, Random};
use memory::{Change, Memory, Plain, Values};
use pairs::{Cost, FaultTimes, Pairs};
use region::Region;
use state::State;
use std::time::{Duration, Instant};
use work::{Kernel, Work};

/// Number of elements of the data (64 MiB).
const ELEMENTS: usize = 1 << 23;
/// Size of the data, in bytes.
const BYTES: usize = ELEMENTS * size_of::<f64>();
/// Number of pages of the data.
const PAGES: usize = BYTES / PAGE;
/// Number of elements in a page.
const IN_PAGE: usize = PAGE / size_of::<f64>();

/// Number of pairs that are measured for each kernel and state.
const PAIRS: usize = 9;
/// Number of pairs before them that are not counted.
const WARM_UP: usize = 1;
/// The largest part of a field that may not be in the state that is measured.
const MOST_OUTSIDE: f64 = 0.05;
/// The longest time to wait until a field is in its state.
const LEARNING: Duration = Duration::from_secs(10);
/// The time between two steps meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

/// Measures each kernel in each state of a field.
pub fn measure() -> Vec<Bar> {
    let mut bench = Bench::new();
    let states = State::ALL.into_iter();
    states.flat_map(|state| bench.measure(state)).collect()
}

struct Bench {
    plain: Plain,
    values: Values,
    work: Work,
    random: Random,
    fault_times: FaultTimes,
}

impl Bench {
    fn new() -> Self {
        let mut random = Random(13);
        Bench {
            plain: Plain::huge(),
            values: Values::new(&mut random),
            work: Work::new(&mut random),
            random,
            fault_times: FaultTimes::default(),
        }
    }

    /// Measures all kernels that make sense in this state. There are no values if this machine has
    /// no such memory.
    fn measure(&mut self, state: State) -> Vec<Bar> {
        let mut other = match self.begin(state) {
            Ok(memory) => memory,
            Err(error) => {
                eprintln!("bars: {} is not measured: {error}", state.what());
                return Vec::new();
            }
        };
        let mut bars = Vec::new();
        let mut all = Pairs::default();
        for kernel in Kernel::ALL.into_iter().filter(|k| state.takes(*k)) {
            let pairs = self.pairs(kernel, state, other.as_mut());
            bars.extend(pairs.bars(kernel, state));
            all.extend_huge_parts(&pairs);
        }
        bars.extend(self.fault_times.bar(state));
        bars.extend(all.huge_bars(state));
        if let Some(outside) = other.outside() {
            let what = format!("{}: the part that is not", state.what());
            bars.push(Bar::new(&what, outside, MOST_OUTSIDE, Unit::Ratio));
        }
        bars
    }

    /// Returns memory in this state. The error says why this machine has none.
    fn begin(&mut self, state: State) -> Result<Box<dyn Memory>, String> {
        let mut other: Box<dyn Memory> = match state {
            State::SmallPages => Box::new(Plain::small()),
            _ => Box::new(Region::new(state)?),
        };
        let all: Vec<usize> = (0..PAGES).collect();
        self.work.draw(&mut self.random, &all);
        self.plain.change(&Change::All, &self.values);
        other.change(&Change::All, &self.values);
        self.fault_times = FaultTimes::default();
        let start = Instant::now();
        let mut steps = 0;
        while steps < state.steps() || (is_outside(other.as_ref()) && start.elapsed() < LEARNING) {
            self.prepare(state, Kernel::Gather, other.as_mut());
            std::thread::sleep(PAUSE);
            steps += 1;
        }
        Ok(other)
    }

    /// Computes a step of the simulation that leads to this state, in both memories. `kernel` runs
    /// next.
    fn prepare(&mut self, state: State, kernel: Kernel, other: &mut dyn Memory) {
        self.values.renew();
        let change = match state.change(&mut self.random) {
            Change::Pages(pages) if kernel.writes() => {
                // The kernel itself writes these pages, and no others.
                self.work.draw(&mut self.random, &pages);
                Change::Nothing
            }
            change => change,
        };
        // A handed-over field can be written only between the rewriting and the publish after it.
        let publish_first = state == State::HandedOver && kernel.writes();
        if publish_first {
            other.publish();
        }
        let (plain, ()) = Cost::of(|| self.plain.change(&change, &self.values));
        let (changed, ()) = Cost::of(|| other.change(&change, &self.values));
        if let Change::Pages(_) = change {
            self.fault_times.add(plain, changed);
        }
        if !publish_first {
            other.publish();
        }
    }

    /// Runs the pairs of a kernel.
    fn pairs(&mut self, kernel: Kernel, state: State, other: &mut dyn Memory) -> Pairs {
        let mut pairs = Pairs::default();
        for pair in 0..WARM_UP + PAIRS {
            self.prepare(state, kernel, other);
            let [plain, changed] = self.pair(kernel, other, pair % 2 == 1);
            if pair >= WARM_UP {
                pairs.add(plain, changed, self.fault_times.median());
                pairs.add_huge_parts(self.plain.huge_part(), other.huge_part());
            }
        }
        pairs
    }

    /// Runs the kernel over both memories, and returns both costs.
    fn pair(&mut self, kernel: Kernel, other: &mut dyn Memory, swapped: bool) -> [Cost; 2] {
        let Bench { plain, work, .. } = self;
        let (in_plain, in_other) = if swapped {
            let first = timed(work, kernel, other);
            (timed(work, kernel, plain), first)
        } else {
            let first = timed(work, kernel, plain);
            (first, timed(work, kernel, other))
        };
        let results = [in_plain, in_other].map(|(_, result)| result);
        assert_eq!(results[0], results[1], "{}", kernel.name());
        [in_plain.0, in_other.0]
    }
}

/// Returns true if too much of the data is not in its state.
fn is_outside(memory: &dyn Memory) -> bool {
    memory.outside().is_some_and(|part| part > MOST_OUTSIDE)
}

/// Runs the kernel, and returns its costs and its result.
fn timed(work: &mut Work, kernel: Kernel, memory: &mut dyn Memory) -> (Cost, f64) {
    work.clear_cache();
    Cost::of(|| work.run(kernel, memory))
}
