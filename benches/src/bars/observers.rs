//! The time until many observers have read the pages that changed.
//!
//! The rival copies the whole buffer into shared memory that exists already, for all observers
//! together. Both ways show the same steps to the same processes, one after the other.

use super::bar::Bar;
use crate::outcome::Outcome;
use crate::programs::Program;
use crate::samples::Samples;
use crate::watch::{BYTES, Board, Way, now_ns, pages_of, ways};
use crate::workload::{Simulation, touch};

/// Numbers of observers, and shares of pages in per cent.
const OBSERVERS: [usize; 2] = [10, 50];
const PERCENT: [usize; 3] = [1, 10, 25];
/// Number of steps before the observers come. After them, the policy knows the pattern, and the
/// pages of a version are scattered.
const BEFORE: usize = 60;
/// Number of steps that observers see before those that are measured, and of these.
const WARM_UP: usize = 3;
const ROUNDS: usize = 15;

/// Measures each number of observers with each share of pages.
pub fn measure() -> Vec<Bar> {
    let mut bars = Vec::new();
    for percent in PERCENT {
        for observers in OBSERVERS {
            bars.extend(measure_one(observers, percent).expect("measured"));
        }
    }
    bars
}

fn measure_one(observers: usize, percent: usize) -> Outcome<[Bar; 5]> {
    let mut show = Show::start(observers, percent)?;
    for _ in 0..WARM_UP {
        show.round()?;
    }
    let mut seen = Seen::default();
    for _ in 0..ROUNDS {
        seen.add(show.round()?);
    }
    Ok(seen.bars(observers, percent))
}

/// A simulation and its observers. The observers are ended before the simulation.
struct Show {
    observers: Vec<Program>,
    board: Board,
    simulation: Simulation,
    percent: usize,
}

/// The times of a way to show a step, in nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    /// The time that the producer spends.
    stall: f64,
    /// The time until the last observer has read the changed pages.
    visible: f64,
}

impl Show {
    fn start(observers: usize, percent: usize) -> Outcome<Self> {
        let name = format!(
            "bars-observers-{observers}-{percent}-{}",
            std::process::id()
        );
        let mut show = Show {
            observers: Vec::new(),
            board: Board::create()?,
            simulation: Simulation::new(&name, BYTES),
            percent,
        };
        for _ in 0..BEFORE {
            show.step();
            show.simulation.publish();
            show.simulation.settle();
        }
        let (board, percent) = (show.board.path().display().to_string(), percent.to_string());
        for _ in 0..observers {
            let observer = Program::start("watcher", &[&name, &board, &percent])?;
            show.observers.push(observer);
        }
        show.board.wait_ready(observers)?;
        Ok(show)
    }

    /// Writes the pages of the next step.
    fn step(&mut self) {
        self.simulation.step += 1;
        let step = self.simulation.step;
        let pages = pages_of(step, self.percent);
        touch(self.simulation.memory(), &pages, step);
    }

    /// Computes a step and shows it in both ways. Returns the times of the version and of the copy.
    fn round(&mut self) -> Outcome<[Times; 2]> {
        self.step();
        let mut times = [None; 2];
        for way in ways(self.simulation.step) {
            times[way as usize] = Some(self.show(way)?);
        }
        let [Some(version), Some(copy)] = times else {
            return Err("a step was not shown in both ways".into());
        };
        Ok([version, copy])
    }

    fn show(&mut self, way: Way) -> Outcome<Times> {
        self.board.begin();
        let start = now_ns();
        match way {
            Way::Version => self.simulation.publish(),
            Way::Copy => {
                let step = self.simulation.step;
                self.board.copy(step, self.simulation.memory());
            }
        }
        let stall = now_ns() - start;
        let end = self.board.wait_done(self.observers.len())?;
        self.simulation.settle();
        Ok(Times {
            stall: stall as f64,
            visible: end.saturating_sub(start) as f64,
        })
    }
}

/// The times of all rounds: of the version (0) and of the copy (1).
#[derive(Default)]
struct Seen {
    stall: [Samples; 2],
    visible: [Samples; 2],
    ratios: Samples,
}

impl Seen {
    fn add(&mut self, times: [Times; 2]) {
        for (way, times) in times.into_iter().enumerate() {
            self.stall[way].add_ns(times.stall);
            self.visible[way].add_ns(times.visible);
        }
        let [version, copy] = times;
        self.ratios.add_value(version.visible / copy.visible);
    }

    fn bars(&self, observers: usize, percent: usize) -> [Bar; 5] {
        let what = format!("random {percent} % of 64 MiB, {observers} observers");
        let read = "until all have read a byte of each changed page";
        let [version, copy] = &self.visible;
        [
            Bar::limit(&format!("{what}: from publish {read}"), version),
            Bar::limit(
                &format!("{what}: its rival copies everything, {read}"),
                copy,
            ),
            Bar::ratios(
                &format!("{what}: the first, in times of the rival"),
                &self.ratios,
                Some(2.0),
            ),
            Bar::limit(&format!("{what}: publish"), &self.stall[0]),
            Bar::limit(&format!("{what}: the copy of the rival"), &self.stall[1]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_compared_with_the_copy_of_the_same_step() {
        let mut seen = Seen::default();
        let times = |stall, visible| Times { stall, visible };
        for factor in [1.0, 10.0] {
            seen.add([times(1e3, 3e6 * factor), times(5e6, 2e6 * factor)]);
        }
        let bars = seen.bars(10, 1);
        let values = bars.each_ref().map(|bar| bar.seen);
        assert_eq!(values, [3e3, 2e3, 1.5, 1.0, 5e3]);
        let limits = bars.each_ref().map(|bar| bar.bar);
        assert_eq!(limits, [None, None, Some(2.0), None, None]);
    }
}
