//! What handing a field over costs: publish of a field that is rewritten whole, and the step that does it.
//!
//! Each step computes a field of MIB (512) MiB from another. Rounds of steps in ordinary memory, rounds with publish of a
//! handed-over field, and rounds with publish of one that is captured, take turns; the times are medians over all rounds.

use ndarray::{Array1, ArrayViewMut1, Zip};
use std::time::{Duration, Instant};
use tcasm_observer::Observer;
use tcasm_producer::{Buffer, Field, HandedOver, Producer, Receipt};

const ROUNDS: usize = 7;
const STEPS: usize = 5;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn compute(from: &Array1<f64>, into: ArrayViewMut1<'_, f64>, step: usize) {
    Zip::from(from).map_assign_into(into, |x| x * 0.5 + step as f64);
}

fn faults() -> i64 {
    // SAFETY: all zeros is a value of this plain struct, which the call fills.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    usage.ru_minflt
}

/// Times of some steps, and of the publishes in them.
#[derive(Default)]
struct Times {
    steps: Vec<Duration>,
    publishes: Vec<Duration>,
    faults: i64,
    copied: u64,
}

impl Times {
    fn step(&mut self, run: impl FnOnce() -> Result<Option<Receipt>>) -> Result<()> {
        let (before, start) = (faults(), Instant::now());
        let receipt = run()?;
        self.steps.push(start.elapsed());
        self.faults += faults() - before;
        if let Some(receipt) = receipt {
            let Receipt::Published(p) = receipt else {
                return Err(format!("{receipt:?}").into());
            };
            self.publishes.push(p.duration);
            self.copied += p.bytes;
        }
        Ok(())
    }

    fn report(mut self, what: &str, plain: f64) -> f64 {
        self.steps.sort_unstable();
        self.publishes.sort_unstable();
        let us = |d: &[Duration], q: f64| {
            let at = ((d.len() as f64 * q).ceil() as usize).clamp(1, d.len()) - 1;
            d[at].as_secs_f64() * 1e6
        };
        let median = us(&self.steps, 0.5);
        print!("{what:<12} step {median:>9.0} us");
        if plain > 0.0 {
            print!(" ({:+.2} %)", (median / plain - 1.0) * 100.0);
        }
        if !self.publishes.is_empty() {
            let [p50, p99, max] = [0.5, 0.99, 1.0].map(|q| us(&self.publishes, q));
            print!("  publish p50 {p50:.0} p99 {p99:.0} max {max:.0} us");
        }
        let (n, copied) = (self.steps.len(), self.copied >> 20);
        println!("  {} faults, {copied} MiB copied in {n} steps", self.faults);
        median
    }
}

fn main() -> Result<()> {
    let mib: usize = std::env::args().nth(1).map_or(Ok(512), |n| n.parse())?;
    let n = (mib << 20) / 8;
    let name = format!("handover-bench-{}", std::process::id());
    let builder = Producer::builder(&name).capacity(n * 16 + (8 << 20));
    let mut p = builder
        .memory((8 * mib as u64) << 20)
        .check_hand_over(false)
        .create()?;
    let lent: Field<f64, _, HandedOver> = p.field("lent", [n]).handed_over().add()?;
    let other: Buffer<f64, _> = p.scratch([n])?;
    let from = Array1::from_elem(n, 1.0);
    let mut plain = Array1::zeros(n);
    let observer = Observer::attach(&name)?;
    let (mut in_memory, mut in_region, mut handed) =
        (Times::default(), Times::default(), Times::default());
    let mut rewrites = Vec::new();
    for round in 0..=ROUNDS {
        for step in 0..STEPS {
            in_memory.step(|| {
                compute(&from, plain.view_mut(), step);
                Ok(None)
            })?;
            in_region.step(|| {
                compute(&from, p.view_mut(other)?, step);
                Ok(None)
            })?;
            handed.step(|| {
                let start = Instant::now();
                let view = p.rewrite(lent)?;
                rewrites.push(start.elapsed());
                Zip::from(&from).map_assign_into(view, |x| x * 0.5 + step as f64);
                Ok(Some(p.publish(step as u64, 0.0)?))
            })?;
        }
        if round == 0 {
            // The first touches everything.
            (in_memory, in_region, handed) = Default::default();
        }
    }
    drop(observer);
    rewrites.sort_unstable();
    println!("rewrite p50 {:?}", rewrites[rewrites.len() / 2]);
    let base = in_memory.report("in memory", 0.0);
    in_region.report("in a region", base);
    handed.report("handed over", base);
    Ok(())
}
