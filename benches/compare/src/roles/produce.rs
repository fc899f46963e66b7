//! The producer: run the steps, with the method and without in turn, and measure both.

use super::observers::Observers;
use super::pages::Pages;
use crate::case::{BURST, Case, GRAY_SCOTT};
use crate::failure::Failure;
use crate::row::{Row, Samples};
use crate::score::Score;
use crate::{gray_scott, held, methods};
use std::ops::Range;
use std::time::Instant;

/// A simulation that can do the same step twice: coupled to observers, and on its own.
pub trait Simulation {
    /// Bytes that the processes of the case held before there was anything to show.
    fn own_bytes(&self) -> u64;
    /// Whatever must be known before these steps, not measured.
    fn prepare(&mut self, _steps: Range<u64>) {}
    /// The step in plain memory.
    fn bare_step(&mut self, step: u64);
    /// After it, not measured.
    fn note(&mut self, _step: u64) {}
    /// The method's call before a step.
    fn begin(&mut self, _step: u64) -> Result<(), Failure> {
        Ok(())
    }
    /// The step in the memory that is shown.
    fn step(&mut self, step: u64) -> Result<(), Failure>;
    /// Offer it. False: nothing was offered.
    fn publish(&mut self, step: u64) -> Result<bool, Failure>;
    /// After the observers are through with older versions, not measured.
    fn tidy(&mut self) {}
}

/// Run the producer of a case, which starts its observers.
pub fn run(case: &Case) -> Result<Row, Failure> {
    let score = Score::create(&case.path("score"), case.observers)?;
    let method = methods::find(&case.method)?;
    let simulation: Box<dyn Simulation> = match case.pattern.as_str() {
        GRAY_SCOTT => Box::new(gray_scott::Run::new(case)?),
        _ => Box::new(Pages::new(case, method)?),
    };
    let mut producer = Producer {
        observers: Observers::start(case, &score)?,
        case,
        score,
        simulation,
        offered: None,
        samples: Samples::default(),
        held: 0,
    };
    let row = producer.run();
    producer.score.close();
    row
}

struct Producer<'a> {
    case: &'a Case,
    score: Score,
    simulation: Box<dyn Simulation>,
    observers: Observers,
    /// The step that was offered last.
    offered: Option<u64>,
    samples: Samples,
    /// Most memory held in the last step.
    held: u64,
}

impl Producer<'_> {
    fn run(&mut self) -> Result<Row, Failure> {
        // First one by one, for memory to be there; then in bursts, the first step of which is not measured.
        for step in 0..self.case.first_burst() {
            self.burst(step..step + 1)?;
        }
        let bursts = self.case.first_burst()..self.case.end();
        for first in bursts.step_by(BURST as usize) {
            self.burst(first..first + BURST)?;
        }
        if self.case.observers == 0 {
            self.late_observer()?;
        }
        Ok(self.samples.row(self.case, self.held, self.score.correct()))
    }

    /// Steps on their own, while observers wait; then the same steps coupled, without a pause.
    fn burst(&mut self, steps: Range<u64>) -> Result<(), Failure> {
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
        if let Some(step) = self.offered {
            self.observers
                .wait(&self.score, step, |score, o| score.has_finished(o, step))?;
        }
        self.simulation.tidy();
        if steps.end - steps.start > 1 {
            let seen = |o| self.score.visible_ns(o, steps.clone());
            let visible = (0..self.score.observers()).filter_map(seen);
            self.samples.visible.extend(visible);
        }
        Ok(())
    }

    /// One coupled step.
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

    /// Where nobody was attached, somebody comes now and looks at one more version.
    fn late_observer(&mut self) -> Result<(), Failure> {
        self.score.set_observers(1);
        self.observers = Observers::start(self.case, &self.score)?;
        self.offered = None;
        let step = self.case.end();
        self.burst(step..step + 1)
    }

    /// In the last step, before and after it is offered: then most memory is held.
    fn measure_memory(&mut self, step: u64) -> Result<(), Failure> {
        if step + 1 == self.case.end() {
            let held = held::bytes(std::process::id() as i32, &self.case.dir)?;
            let own = self.simulation.own_bytes() + self.score.own_bytes();
            let held = held.saturating_sub(own + self.case.bytes() as u64);
            self.held = self.held.max(held);
        }
        Ok(())
    }
}

/// The result of a call, and its nanoseconds.
fn timed<T>(call: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = call();
    (result, start.elapsed().as_nanos() as f64)
}
