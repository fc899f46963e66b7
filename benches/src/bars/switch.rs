//! The time that an observer needs to switch to the next version, on an idle machine and beside a
//! load.

use super::bar::Bar;
use super::spinner::Spinner;
use crate::samples::Samples;
use crate::workload::{BYTES, Simulation};
use tcasm_observer::Observer;

/// Number of versions that the observer switches to. One time in a hundred is beyond the 99th
/// percentile.
const ROUNDS: usize = 200;
/// Number of versions before them. After them, the policy knows the pattern, and the pages of a
/// version are scattered.
const WARM_UP: usize = 60;
/// The shares of pages that a step writes, in per cent.
const PERCENT: [usize; 2] = [100, 1];

/// Measures versions of which all pages differ, and versions of which a few do.
pub fn measure() -> Vec<Bar> {
    PERCENT.into_iter().flat_map(measure_one).collect()
}

fn measure_one(percent: usize) -> [Bar; 2] {
    let mut switching = Switching::new(percent);
    switching.rounds(WARM_UP);
    let idle = switching.rounds(ROUNDS);
    let load = Spinner::on_all_processors();
    let beside = switching.rounds(ROUNDS);
    drop(load);
    let what = format!("switch to the next version, 512 MiB, {percent} % of the pages differ");
    let loaded = format!("{what}, beside a thread on each processor that computes");
    [Bar::limit(&what, &idle), Bar::limit(&loaded, &beside)]
}

/// A simulation and an observer of it.
struct Switching {
    simulation: Simulation,
    observer: Observer,
    percent: usize,
}

impl Switching {
    fn new(percent: usize) -> Self {
        let name = format!("bars-switch-{percent}-{}", std::process::id());
        let simulation = Simulation::new(&name, BYTES);
        let observer = Observer::attach(&name).expect("an observer");
        Switching {
            simulation,
            observer,
            percent,
        }
    }

    /// Publishes versions. Returns the times in which the observer pins and maps each of them, and
    /// lets go of it. Nothing else is in progress meanwhile.
    fn rounds(&mut self, rounds: usize) -> Samples {
        let mut times = Samples::default();
        for _ in 0..rounds {
            self.simulation.compute(self.percent);
            self.simulation.publish();
            self.simulation.settle();
            let step = times.time(|| {
                let version = self.observer.latest().expect("a version");
                let view = version.view().expect("a view");
                view.step()
            });
            assert_eq!(step, self.simulation.step);
        }
        times
    }
}
