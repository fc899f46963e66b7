//! A simulation that draws the pages that it writes anew in each step, compared with the least that
//! publishing them can cost.

use super::bar::{Bar, Unit};
use crate::reference::Reference;
use crate::samples::Samples;
use crate::workload::{BYTES, Simulation};
use tcasm_producer::TrackerKind;

/// The share of pages that a step writes, in per cent.
const PERCENT: usize = 1;
const ROUNDS: usize = 100;
/// Number of steps until the library has adapted its capture policy to them. All of the region was
/// written shortly before.
const SETTLING: usize = 48;
/// Number of steps after which the same is measured again.
const MANY: usize = 1000;

/// Measures publish, and harvest and copy alone, once soon after all of the region was written and
/// once after many steps. There are no values where writes are tracked in another way.
pub fn measure() -> Vec<Bar> {
    let name = format!("bars-harvest-{}", std::process::id());
    let simulation = Simulation::new(&name, BYTES);
    let tracker = simulation.producer.tracker();
    if tracker != TrackerKind::UffdAsync {
        eprintln!("bars: harvest and copy are not measured: the tracker is {tracker}");
        return Vec::new();
    }
    let reference = Reference::new(BYTES);
    let mut pair = Pair {
        simulation,
        reference,
    };
    let what = format!("random {PERCENT} % of 512 MiB, drawn anew in each step");
    pair.rounds(SETTLING);
    let mut bars = pair.rounds(ROUNDS).bars(&what);
    pair.rounds(MANY - SETTLING - ROUNDS);
    let later = format!("{what}, after {MANY} steps");
    bars.extend(pair.rounds(ROUNDS).bars(&later));
    bars
}

/// A simulation, and memory that is only harvested and copied.
struct Pair {
    simulation: Simulation,
    reference: Reference,
}

/// The times of a number of steps.
#[derive(Default)]
struct Times {
    publish: Samples,
    reference: Samples,
}

impl Pair {
    /// Computes and publishes steps in both. Their order alternates.
    fn rounds(&mut self, rounds: usize) -> Times {
        let mut times = Times::default();
        for round in 0..rounds {
            for turn in 0..2 {
                match (round + turn) % 2 {
                    0 => self.publish(&mut times.publish),
                    _ => self.harvest(&mut times.reference),
                }
            }
        }
        times
    }

    fn publish(&mut self, times: &mut Samples) {
        self.simulation.compute(PERCENT);
        times.time(|| self.simulation.publish());
        // Nothing is captured while the other one is measured.
        self.simulation.settle();
    }

    fn harvest(&mut self, times: &mut Samples) {
        self.reference.compute(PERCENT);
        times.time(|| self.reference.publish());
    }
}

impl Times {
    fn bars(&self, what: &str) -> Vec<Bar> {
        let ratio = self.publish.median() / self.reference.median();
        vec![
            Bar::limit(&format!("{what}: publish"), &self.publish),
            Bar::limit(
                &format!("{what}: its limit: harvest + copy"),
                &self.reference,
            ),
            Bar::new(
                &format!("{what}: publish, in times of harvest + copy"),
                ratio,
                1.3,
                Unit::Ratio,
            ),
        ]
    }
}
