//! The solver of the examples in typical use: every step is published, checkpoints are written, and
//! an observer computes statistics.
//!
//! The same steps run in plain memory and in the region. A stretch (a number of steps in a row) of
//! each kind takes turns. Whole stretches that follow each other are compared, so steps that a
//! checkpoint slows down count in full.

use super::bar::{Bar, Unit};
use crate::outcome::Outcome;
use crate::plain::huge_array;
use crate::programs::Program;
use crate::samples::Samples;
use ndarray::Array3;
use std::time::{Duration, Instant};
use tcasm_checkpoint::Checkpoint;
use tcasm_examples::arrays::{self, Arrays, Capture, room_for};
use tcasm_examples::{GrayScott, Params};
use tcasm_producer::Producer;

const SHAPE: [usize; 3] = [128; 3];
/// Number of steps in a stretch.
const STRETCH: u64 = 20;
/// Number of pairs of stretches that are measured.
const PAIRS: u64 = 24;
/// Number of pairs at the start that are not counted. During them, fresh memory is touched and
/// programs start.
const WARM_UP: u64 = 2;
/// Number of steps between two checkpoints. They take about a second, longer than writing a
/// checkpoint.
const CHECKPOINT_EVERY: &str = "50";
/// Number of steps between two versions of which statistics are computed.
const STATISTICS_EVERY: &str = "10";
/// Time for the other programs to finish their work before the next stretch in plain memory.
const PAUSE: Duration = Duration::from_millis(300);

/// Measures what publishing, a writer of checkpoints and an observer add to a step of a simulation
/// with one thread.
pub fn measure() -> Vec<Bar> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    one.expect("a thread").install(|| run().expect("measured"))
}

fn run() -> Outcome<Vec<Bar>> {
    let name = format!("bars-gray-scott-{}", std::process::id());
    let dir = tempfile::tempdir()?;
    let mut both = Both::new(&name)?;
    let to = dir.path().display().to_string();
    let writer = Program::start(
        "tcasm",
        &[
            "checkpoint",
            &name,
            "--fast",
            &to,
            "--every",
            CHECKPOINT_EVERY,
            "--compress",
            "none",
            "--keep",
            "2",
        ],
    )?;
    let statistics = Program::start("statistics", &[&name, STATISTICS_EVERY])?;
    let [mut plain, mut published] = [Samples::default(), Samples::default()];
    let mut added = Vec::new();
    for pair in 0..PAIRS + WARM_UP {
        if pair == WARM_UP {
            (plain, published, added) = Default::default();
        }
        let steps = pair * STRETCH + 1..=(pair + 1) * STRETCH;
        let without = stretch(&mut plain, steps.clone(), |step| {
            both.plain_step(step);
            Ok(())
        })?;
        let with = stretch(&mut published, steps, |step| both.published_step(step))?;
        added.push((with / without - 1.0) * 100.0);
        std::thread::sleep(PAUSE);
    }
    let Both {
        plain: end,
        producer,
        ..
    } = both;
    drop(producer); // this makes the other programs end
    let (written, taken) = (writer.finish()?, statistics.finish()?);
    check(dir.path(), &end[..2])?;
    Ok(bars(
        &plain,
        &published,
        added,
        written.matches("wrote ").count(),
        taken.trim().parse()?,
    ))
}

/// Runs these steps. Returns their total time in seconds, and adds the time of each to `samples`.
pub(super) fn stretch(
    samples: &mut Samples,
    steps: impl Iterator<Item = u64>,
    mut step: impl FnMut(u64) -> Outcome<()>,
) -> Outcome<f64> {
    let start = Instant::now();
    for number in steps {
        samples.time(|| step(number))?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// The solver in plain arrays and in a region.
pub(super) struct Both {
    solver: GrayScott,
    plain: [Array3<f64>; 4],
    producer: Producer,
    arrays: Box<dyn Arrays>,
}

impl Both {
    pub(super) fn new(name: &str) -> Outcome<Self> {
        let solver = GrayScott::new(Params::default());
        let mut plain = [(); 4].map(|()| huge_array(SHAPE));
        let [u, v, ..] = &mut plain;
        solver.initialise(u.view_mut(), v.view_mut());
        let room = 2 * room_for(plain[0].len() * size_of::<f64>());
        let mut producer = Producer::builder(name).capacity(room).create()?;
        let arrays = arrays::create(&mut producer, SHAPE, Capture::HandOver)?;
        let [u, v] = arrays.initial(&mut producer)?;
        solver.initialise(u, v);
        Ok(Both {
            solver,
            plain,
            producer,
            arrays,
        })
    }

    fn plain_step(&mut self, step: u64) {
        let [u, v, u_next, v_next] = self.plain.each_mut().map(|a| a.view_mut());
        self.solver.step(u.view(), v.view(), u_next, v_next, step);
        self.plain.rotate_left(2);
    }

    pub(super) fn published_step(&mut self, step: u64) -> Outcome<()> {
        let (u, v, u_next, v_next) = self.arrays.views(&mut self.producer)?;
        self.solver.step(u, v, u_next, v_next, step);
        self.arrays.show(&mut self.producer)?;
        let receipt = self.producer.publish(step, self.solver.time(step))?;
        self.arrays.swap();
        match receipt.version() {
            Some(_) => Ok(()),
            None => Err(format!("step {step} is not published: {receipt:?}").into()),
        }
    }
}

/// Checks that the last checkpoint has the bits of the last step in plain memory.
fn check(dir: &std::path::Path, end: &[Array3<f64>]) -> Outcome<()> {
    let checkpoint = Checkpoint::restart(&[dir], None)?;
    for (name, expected) in ["u", "v"].into_iter().zip(end) {
        let mut seen = Array3::<f64>::zeros(SHAPE);
        checkpoint.read_array(name, seen.view_mut().into_dyn())?;
        if seen != expected {
            return Err(format!(
                "{:?}: field {name} differs from plain memory",
                checkpoint.path()
            )
            .into());
        }
    }
    Ok(())
}

fn bars(
    plain: &Samples,
    published: &Samples,
    mut added: Vec<f64>,
    written: usize,
    taken: usize,
) -> Vec<Bar> {
    assert!(
        written > 2 && taken > 0,
        "{written} checkpoints were written and {taken} statistics were computed"
    );
    added.sort_by(f64::total_cmp);
    let quick = (published.median() / plain.median() - 1.0) * 100.0;
    vec![
        Bar::limit(
            "gray_scott, 128^3, one thread: a step in plain memory",
            plain,
        ),
        Bar::limit(
            "the same, published, while checkpoints are written and statistics are computed",
            published,
        ),
        Bar::figure("the same: checkpoints", written as f64, Unit::Count),
        Bar::figure(
            "the same: versions with statistics",
            taken as f64,
            Unit::Count,
        ),
        Bar::new(
            "the same: added to the step, median of paired stretches",
            added[added.len() / 2],
            3.0,
            Unit::Percent,
        ),
        Bar::new(
            "the same: added to the median step",
            quick,
            3.0,
            Unit::Percent,
        ),
    ]
}
