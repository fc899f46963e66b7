//! The time that a checkpoint adds to the simulation, for each way to write it. Steps in plain
//! memory without checkpoints and steps with a checkpoint take turns.

use super::figures::{Figures, ms};
use super::methods::{CopyAndThread, Direct, Fork, Method};
use super::simulation::{NAMES, Plain, SHAPE, Work, save, usual};
use super::tcasm::{Publish, Tcasm};
use crate::bars::{Bar, Unit};
use crate::outcome::Outcome;
use crate::samples::Samples;
use ndarray::Array3;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};
use tcasm_checkpoint::Checkpoint;
use tcasm_examples::arrays::Capture;

const ROUNDS: u64 = 8;
const WORKS: [(&str, Work); 2] = [("memory", Work::Memory), ("arithmetic", Work::Arithmetic)];

/// The results of one way to write checkpoints.
struct Row {
    name: &'static str,
    /// Time that each checkpoint adds to all steps until the next one, together.
    per_checkpoint: Samples,
    /// Times of the steps with checkpoints.
    steps: Samples,
    /// Times of the steps in plain memory.
    plain: Samples,
    /// Number of checkpoints that were not complete when the next was due.
    late: usize,
}

type Open = fn(&Path, u64, Work) -> Outcome<Box<dyn Method>>;

const METHODS: [(&str, Open); 6] = [
    (
        "**TCASM**, handed over, each step published",
        |dir, every, work| {
            let mode = (Capture::HandOver, Publish::Each, "auto");
            Ok(Box::new(Tcasm::new(dir, mode, every, work)?))
        },
    ),
    (
        "the same, written through the page cache",
        |dir, every, work| {
            let mode = (Capture::HandOver, Publish::Each, "off");
            Ok(Box::new(Tcasm::new(dir, mode, every, work)?))
        },
    ),
    (
        "**TCASM**, copied, published for the checkpoint",
        |dir, every, work| {
            let mode = (Capture::Copy, Publish::Due, "auto");
            Ok(Box::new(Tcasm::new(dir, mode, every, work)?))
        },
    ),
    ("HDF5 in the simulation", |dir, _, work| {
        Ok(Box::new(Direct::new(dir, work)))
    }),
    ("copy, and a thread writes", |dir, _, work| {
        Ok(Box::new(CopyAndThread::new(dir, work)))
    }),
    ("fork, and the child writes", |dir, _, work| {
        Ok(Box::new(Fork::new(dir, work)))
    }),
];
/// Methods with which the first one is compared: their indices, what each does, and the highest
/// part of its time in per cent.
const RIVALS: [(usize, &str, f64); 2] = [
    (3, "HDF5 in the simulation", 5.0),
    (4, "a copy that a thread writes", 60.0),
];

/// Measures all methods, with steps that are bound by memory and steps that are bound by
/// arithmetic.
pub fn measure(dir: &Path) -> Outcome<Figures> {
    let mut figures = Figures {
        text: String::new(),
        bars: Vec::new(),
    };
    for (bound, work) in WORKS {
        let more = measure_with(dir, bound, work)?;
        figures.text += &more.text;
        figures.bars.extend(more.bars);
    }
    Ok(figures)
}

fn measure_with(dir: &Path, bound: &str, work: Work) -> Outcome<Figures> {
    let mut plain = Plain::new(work);
    let every = steps_between(dir, &mut plain)?;
    let mut rows = Vec::new();
    for (name, open) in METHODS {
        let own = tempfile::tempdir_in(dir)?;
        let mut method = open(own.path(), every, work)?;
        rows.push(rounds(name, method.as_mut(), &mut plain, every)?);
    }
    let added = |row: &Row| row.per_checkpoint.median();
    let bars = RIVALS.map(|(rival, does, most)| {
        let part = added(&rows[0]) / added(&rows[rival]) * 100.0;
        let what = format!(
            "TCASM, handed over, steps bound by {bound}: added per checkpoint, as a part of the \
             time that {does} adds"
        );
        Bar::new(&what, part, most, Unit::Percent)
    });
    Ok(Figures {
        text: format!("Steps bound by {bound}. {}", table(&rows, every)?),
        bars: bars.to_vec(),
    })
}

/// Returns the number of steps between two checkpoints. They take twice as long as writing one
/// file.
fn steps_between(dir: &Path, plain: &mut Plain) -> Outcome<u64> {
    let [mut steps, mut writes] = [Samples::default(), Samples::default()];
    for step in 1..=6 {
        steps.time(|| plain.step(step));
        let path = dir.join("trial.vtkhdf");
        writes.time(|| save(&path, step, plain.now(), &usual()))?;
        std::fs::remove_file(path)?;
    }
    let twice = 2.0 * writes.median() / steps.median();
    Ok((twice.ceil() as u64).clamp(4, 200))
}

fn rounds(
    name: &'static str,
    method: &mut dyn Method,
    plain: &mut Plain,
    every: u64,
) -> Outcome<Row> {
    let [per_checkpoint, steps, bare] = std::array::from_fn(|_| Samples::default());
    let mut row = Row {
        name,
        per_checkpoint,
        steps,
        plain: bare,
        late: 0,
    };
    for round in 1..=ROUNDS + 1 {
        let (mut bare, mut with) = (Samples::default(), Samples::default());
        let first = round * every;
        let without = stretch(&mut bare, first..first + every, |step| {
            plain.step(step);
            Ok(())
        })?;
        let time = stretch(&mut with, first..first + every, |step| {
            method.step(step)?;
            if step == first {
                method.checkpoint(step)
            } else {
                Ok(())
            }
        })?;
        let late = !method.is_complete()?;
        method.settle()?;
        // The first round is not counted, because it touches fresh memory.
        if round > 1 {
            row.late += usize::from(late);
            let added = time.as_nanos() as f64 - without.as_nanos() as f64;
            row.per_checkpoint.add_ns(added);
            row.steps.extend(&with);
            row.plain.extend(&bare);
        }
    }
    check(name, method, (ROUNDS + 2) * every, every)?;
    Ok(row)
}

/// Runs these steps. Returns their total time, and adds the time of each to `samples`.
fn stretch(
    samples: &mut Samples,
    steps: std::ops::Range<u64>,
    mut step: impl FnMut(u64) -> Outcome<()>,
) -> Outcome<Duration> {
    let start = Instant::now();
    for number in steps {
        samples.time(|| step(number))?;
    }
    Ok(start.elapsed())
}

/// Writes one more checkpoint while further steps run, and compares every bit of it.
fn check(name: &str, method: &mut dyn Method, first: u64, every: u64) -> Outcome<()> {
    method.step(first)?;
    let expected = method.state()?;
    method.checkpoint(first)?;
    for step in first + 1..first + every {
        method.step(step)?;
    }
    let checkpoint = Checkpoint::restart(&[method.settle()?], None)?;
    if checkpoint.stamp().step != first {
        return Err(format!(
            "{name}: the last checkpoint is of step {} instead of {first}",
            checkpoint.stamp().step
        )
        .into());
    }
    for (field, expected) in NAMES.into_iter().zip(&expected) {
        let mut seen = Array3::<f64>::zeros(SHAPE);
        checkpoint.read_array(field, seen.view_mut().into_dyn())?;
        let bits = |array: &Array3<f64>| array.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        if bits(&seen) != bits(expected) {
            return Err(
                format!("{name}: the checkpoint of step {first} has a wrong {field}").into(),
            );
        }
    }
    Ok(())
}

fn table(rows: &[Row], every: u64) -> Outcome<String> {
    let plain = ms(rows[0].plain.median());
    let mut out = format!(
        "A checkpoint every {every} steps; a step in plain memory takes {plain}.\n\n\
         | method | added per checkpoint | p99 | max | added per step | a step | p99 | max \
         | late |\n\
         |---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let (added, steps) = (&row.per_checkpoint, &row.steps);
        let all = |s: &Samples| [0.5, 0.99, 1.0].map(|q| ms(s.quantile(q))).join(" | ");
        let per_step = ms(added.median() / every as f64);
        let (name, late) = (row.name, row.late);
        writeln!(
            out,
            "| {name} | {} | {per_step} | {} | {late} of {ROUNDS} |",
            all(added),
            all(steps)
        )?;
    }
    out.push('\n');
    Ok(out)
}
