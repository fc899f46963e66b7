//! The producer: run the steps, with the method and without in turn, and measure both.

use super::observers::Observers;
use super::pages::Pages;
use crate::case::{Case, GRAY_SCOTT};
use crate::failure::Failure;
use crate::row::{Row, Samples};
use crate::score::Score;
use crate::{gray_scott, held, methods};
use std::time::Instant;

/// A simulation that can do the same step twice: coupled to observers, and on its own.
pub trait Simulation {
    /// Bytes that the processes of the case held before there was anything to show.
    fn own_bytes(&self) -> u64;
    /// Whatever must be known before a step, not measured.
    fn prepare(&mut self, _step: u64) {}
    /// The step in plain memory.
    fn bare_step(&mut self, step: u64);
    /// The method's call before a step.
    fn begin(&mut self) -> Result<(), Failure> {
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
    /// Memory held before the last call of publish.
    held: u64,
}

impl Producer<'_> {
    fn run(&mut self) -> Result<Row, Failure> {
        for step in 0..self.case.end() {
            self.step(step, step >= self.case.first_measured())?;
        }
        // The most of the two: pages written since the version before, or a new version beside the older ones.
        let held = self.held_bytes()?.max(self.held);
        if self.case.observers == 0 {
            self.late_observer()?;
        }
        self.score.open_gate(u64::MAX);
        self.wait_offered("finish with", Score::has_finished)?;
        Ok(self.samples.row(self.case, held, self.score.correct()))
    }

    /// One step on its own and one coupled, while the observers look at the version before.
    fn step(&mut self, step: u64, measured: bool) -> Result<(), Failure> {
        self.simulation.prepare(step);
        let (_, bare) = timed(|| self.simulation.bare_step(step));
        self.score.open_gate(step);
        let (begun, begin) = timed(|| self.simulation.begin());
        begun?;
        let (done, step_ns) = timed(|| self.simulation.step(step));
        done?;
        if step + 1 == self.case.end() {
            self.held = self.held_bytes()?;
        }
        self.score.call(step);
        let (offered, publish) = timed(|| self.simulation.publish(step));
        let offered = offered?;
        self.wait_offered("finish with", Score::has_finished)?;
        if offered {
            self.offered = Some(step);
            self.wait_offered("take", Score::has_taken)?;
        }
        self.simulation.tidy();
        if measured {
            self.samples.bare.push(bare);
            self.samples.step.push(begin + step_ns + publish);
            self.samples.stall.push(begin + publish);
            self.samples.skipped += u64::from(!offered);
            let seen = |o| self.score.visible_ns(o, step);
            let visible = (0..self.score.observers()).filter_map(seen);
            self.samples.visible.extend(visible.filter(|_| offered));
        }
        Ok(())
    }

    /// Where nobody was attached, somebody comes now and looks at one more version.
    fn late_observer(&mut self) -> Result<(), Failure> {
        self.score.set_observers(1);
        self.offered = None;
        self.observers = Observers::start(self.case, &self.score)?;
        self.step(self.case.end(), false)
    }

    fn wait_offered(
        &mut self,
        verb: &'static str,
        done: impl Fn(&Score, usize, u64) -> bool,
    ) -> Result<(), Failure> {
        let Some(step) = self.offered else {
            return Ok(());
        };
        self.observers
            .wait(&self.score, step, verb, |score, observer| {
                done(score, observer, step)
            })
    }

    fn held_bytes(&self) -> Result<u64, Failure> {
        let held = held::bytes(std::process::id() as i32, &self.case.dir)?;
        let own = self.simulation.own_bytes() + self.score.own_bytes() + self.case.bytes() as u64;
        Ok(held.saturating_sub(own))
    }
}

/// The result of a call, and its nanoseconds.
fn timed<T>(call: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = call();
    (result, start.elapsed().as_nanos() as f64)
}
