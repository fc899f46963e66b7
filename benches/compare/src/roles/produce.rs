//! The producer process. It runs the steps with the method and without it in turn, and measures
//! both.

use super::observers::Observers;
use super::pages::Pages;
use crate::case::{BURST, Case, GRAY_SCOTT};
use crate::failure::Failure;
use crate::row::{Row, Samples};
use crate::score::{MAX_OBSERVERS, Score};
use crate::simulation::Simulation;
use crate::{gray_scott, held, methods};
use std::ops::Range;
use std::time::Instant;

/// Runs the producer of a case. The producer starts the observers.
pub fn run(case: &Case) -> Result<Row, Failure> {
    Producer::start(case, MAX_OBSERVERS)?.row()
}

/// The producer of a case, and its observers. When it is dropped, it tells them that no step will
/// follow.
pub struct Producer<'a> {
    case: &'a Case,
    score: Score,
    simulation: Box<dyn Simulation>,
    observers: Observers,
    /// The number of observers that each burst waits for. They are the first ones.
    awaited: usize,
    /// The last step that was published.
    offered: Option<u64>,
    samples: Samples,
    /// The most memory that was held in the last step.
    held: u64,
}

impl<'a> Producer<'a> {
    /// Creates the simulation, and starts the observers. After each burst the producer waits for
    /// the first `awaited` of them. The others may be as slow as they like.
    pub fn start(case: &'a Case, awaited: usize) -> Result<Self, Failure> {
        let score = Score::create(&case.path("score"), case.observers)?;
        let method = methods::find(&case.method)?;
        let simulation: Box<dyn Simulation> = match case.pattern.as_str() {
            GRAY_SCOTT => Box::new(gray_scott::Run::new(case)?),
            _ => Box::new(Pages::new(case, method)?),
        };
        Ok(Producer {
            observers: Observers::start(case, &score)?,
            case,
            score,
            simulation,
            awaited,
            offered: None,
            samples: Samples::default(),
            held: 0,
        })
    }
}

impl Producer<'_> {
    fn row(mut self) -> Result<Row, Failure> {
        self.settle()?;
        let bursts = self.case.first_burst()..self.case.end();
        for first in bursts.step_by(BURST as usize) {
            self.burst(first..first + BURST)?;
        }
        if self.case.observers == 0 {
            self.late_observer()?;
        }
        Ok(self.samples.row(self.case, self.held, self.score.correct()))
    }

    /// Runs the first steps of the case one by one. They prepare memory and let the method settle.
    pub fn settle(&mut self) -> Result<(), Failure> {
        (0..self.case.first_burst()).try_for_each(|step| self.burst(step..step + 1))
    }

    /// Runs the steps in plain memory while observers wait. Then runs the same steps with the
    /// method, without a pause. The first step of a burst is not measured.
    pub fn burst(&mut self, steps: Range<u64>) -> Result<(), Failure> {
        self.simulation.prepare(steps.clone());
        for step in steps.clone() {
            let (_, bare) = timed(|| self.simulation.bare_step(step));
            self.simulation.note(step);
            if step > steps.start {
                self.samples.bare.push(bare);
            }
        }
        for step in steps.clone() {
            self.step(step, step > steps.start)?;
        }
        let awaited = self.awaited;
        if let Some(step) = self.offered {
            let done = |score: &Score, o| o >= awaited || score.has_finished(o, step);
            self.observers.wait(&self.score, step, done)?;
        }
        self.simulation.clean_up();
        if steps.end - steps.start > 1 {
            let seen = |o| self.score.visible_ns(o, steps.clone());
            let visible = (0..self.score.observers().min(awaited)).filter_map(seen);
            self.samples.visible.extend(visible);
        }
        Ok(())
    }

    /// Returns what was measured since the last call.
    pub fn take_samples(&mut self) -> Samples {
        std::mem::take(&mut self.samples)
    }

    /// Returns true if every observer checked at least one version and none found an error.
    pub fn correct(&self) -> bool {
        self.score.correct()
    }

    /// Returns the bytes that all processes of the case hold for the simulation's buffer, its
    /// versions and its observers.
    pub fn held_bytes(&self) -> Result<u64, Failure> {
        let held = held::bytes(std::process::id() as i32, &self.case.dir)?;
        Ok(held.saturating_sub(self.simulation.own_bytes() + self.score.own_bytes()))
    }

    /// Returns the bytes that this process alone holds for the simulation's buffer and its
    /// versions.
    pub fn own_held_bytes(&self) -> Result<u64, Failure> {
        let held = held::of_process(std::process::id() as i32)?;
        Ok(held.saturating_sub(self.simulation.own_bytes()))
    }

    /// Runs one step with the method.
    fn step(&mut self, step: u64, measured: bool) -> Result<(), Failure> {
        let (begun, begin) = timed(|| self.simulation.begin(step));
        begun?;
        let (done, step_ns) = timed(|| self.simulation.step(step));
        done?;
        self.measure_memory(step)?;
        self.score.call(step);
        let (offered, publish) = timed(|| self.simulation.publish(step));
        if offered? {
            self.offered = Some(step);
        } else if measured {
            self.samples.skipped += 1;
        }
        self.measure_memory(step)?;
        if measured {
            self.samples.step.push(begin + step_ns + publish);
            self.samples.stall.push(begin + publish);
        }
        Ok(())
    }

    /// Starts one observer and publishes one more version for it to check. For cases without
    /// observers.
    fn late_observer(&mut self) -> Result<(), Failure> {
        self.score.set_observers(1);
        self.observers = Observers::start(self.case, &self.score)?;
        self.offered = None;
        let step = self.case.end();
        self.burst(step..step + 1)
    }

    /// Measures the held memory in the last step. It is called before and after the publish,
    /// because the most memory is held then.
    fn measure_memory(&mut self, step: u64) -> Result<(), Failure> {
        if step + 1 == self.case.end() {
            let held = self.held_bytes()?.saturating_sub(self.case.bytes() as u64);
            self.held = self.held.max(held);
        }
        Ok(())
    }
}

impl Drop for Producer<'_> {
    fn drop(&mut self) {
        self.score.close();
    }
}

/// Returns the result of a call, and its duration in nanoseconds.
fn timed<T>(call: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = call();
    (result, start.elapsed().as_nanos() as f64)
}
