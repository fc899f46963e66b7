//! The producer of a run: lets the mechanisms adapt to the workload, and then measures.

use crate::first_view::FirstView;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use tcasm_compare::case::{BURST, Case};
use tcasm_compare::failure::Failure;
use tcasm_compare::roles::produce::Producer;
use tcasm_compare::row::{Samples, quantile};
use tcasm_core::testing::ablation::{Mechanism, without};

/// Share of a run in which the mechanisms adapt and nothing is measured.
const ADAPTING: f64 = 0.55;
/// Time between two measurements of held memory.
const HELD_EVERY: Duration = Duration::from_millis(100);
/// Number of observers that the producer waits for after each burst. The others are slow.
const AWAITED: usize = 1;

/// The measured values of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The names of the mechanisms that the producer left out.
    pub left_out: Vec<String>,
    /// Number of measured steps.
    pub steps: usize,
    /// Median step in plain memory, in milliseconds.
    pub bare_ms_p50: f64,
    /// Median step in the region, with publish, in milliseconds.
    pub step_ms_p50: f64,
    /// 99th percentile of the same steps.
    pub step_ms_p99: f64,
    /// Median duration of publish, in microseconds.
    pub publish_us_p50: f64,
    /// 99th percentile of the same durations.
    pub publish_us_p99: f64,
    /// The longest of the same durations.
    pub publish_us_max: f64,
    /// Median time from the call of publish until the first observer held the version, in
    /// milliseconds.
    pub visible_ms_p50: Option<f64>,
    /// Median of the bytes that live memory and versions hold.
    pub held_bytes_p50: f64,
    /// Bytes that live memory, versions and all observers hold at the end.
    pub held_bytes_end: u64,
    /// Number of mappings that the last version takes in a process that attaches at the end.
    pub mappings: u64,
    /// Time in which that process maps the version and reads a byte of each page, in milliseconds.
    pub first_view_ms: f64,
    /// Number of measured calls of publish that were skipped.
    pub skipped: u64,
    /// True if every version that observers checked had the bytes that the simulation wrote.
    pub correct: bool,
}

impl Measured {
    fn new(samples: &Samples) -> Self {
        let ms = |of: &[f64], q| quantile(of, q).unwrap_or(0.0) / 1e6;
        let publish_us = |q| ms(&samples.stall, q) * 1e3;
        Measured {
            steps: samples.step.len(),
            bare_ms_p50: ms(&samples.bare, 0.5),
            step_ms_p50: ms(&samples.step, 0.5),
            step_ms_p99: ms(&samples.step, 0.99),
            publish_us_p50: publish_us(0.5),
            publish_us_p99: publish_us(0.99),
            publish_us_max: publish_us(1.0),
            visible_ms_p50: quantile(&samples.visible, 0.5).map(|ns| ns / 1e6),
            skipped: samples.skipped,
            ..Measured::default()
        }
    }

    /// Returns the median step as a multiple of the median step in plain memory.
    pub fn step(&self) -> f64 {
        self.step_ms_p50 / self.bare_ms_p50
    }

    /// Returns the 99th percentile of the steps, as a multiple of the median step in plain memory.
    pub fn step_p99(&self) -> f64 {
        self.step_ms_p99 / self.bare_ms_p50
    }
}

/// Runs the producer of `case` for `time`, its start included, and measures in the last part of it.
pub fn run(case: &Case, time: Duration) -> Result<Measured, Failure> {
    let start = Instant::now();
    let mut producer = Producer::start(case, AWAITED)?;
    producer.settle()?;
    let adapted = start + time.mul_f64(ADAPTING);
    let next = bursts(&mut producer, case.first_burst(), adapted, |_| Ok(()))?;
    producer.take_samples();
    let (mut held, mut due) = (Vec::new(), Instant::now());
    bursts(&mut producer, next, start + time, |producer| {
        if Instant::now() >= due {
            held.push(producer.own_held_bytes()? as f64);
            due = Instant::now() + HELD_EVERY;
        }
        Ok(())
    })?;
    let held_bytes_end = producer.held_bytes()?;
    let first_view = FirstView::measure()?;
    let left_out = Mechanism::ALL.iter().filter(|m| without(**m));
    Ok(Measured {
        left_out: left_out.map(|m| m.name().to_owned()).collect(),
        held_bytes_p50: quantile(&held, 0.5).unwrap_or(0.0),
        held_bytes_end,
        mappings: first_view.mappings,
        first_view_ms: first_view.ms,
        correct: producer.correct(),
        ..Measured::new(&producer.take_samples())
    })
}

/// Runs bursts until `end`, at least one, the first of them from step `first` on. Calls `after`
/// after each. Returns the step that follows.
fn bursts(
    producer: &mut Producer<'_>,
    mut first: u64,
    end: Instant,
    mut after: impl FnMut(&Producer<'_>) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    loop {
        producer.burst(first..first + BURST)?;
        first += BURST;
        after(producer)?;
        if Instant::now() >= end {
            return Ok(first);
        }
    }
}
