//! The programs of the endurance test: a simulation with fields of each kind, and its observers.
//!
//! `steady produce NAME STEPS [BYTES]` prints a line now and then while it computes and publishes
//! STEPS steps. With BYTES it rests then until the versions take no more than that, and fails if
//! they go on taking more. `steady observe NAME` takes versions until the stream ends, and fails if
//! one is wrong.

use ndarray::Ix1;
use std::time::Duration;
use tcasm_core::sys::huge::is_huge;
use tcasm_core::sys::mem::{HUGE_PAGE, page_size};
use tcasm_observer::{ObserveError, Observer, View};
use tcasm_producer::{Buffer, Field, HandedOver, Producer};
use tcasm_tests::pattern::mix;

type Failure = Box<dyn std::error::Error>;

const MIB: usize = 1 << 20;
/// The number of lines that the producer prints.
const LINES: u64 = 64;
/// How long a rest lasts at most. Memory that was needed again and again is kept for up to two
/// minutes.
const REST: Duration = Duration::from_secs(300);
/// The number of parts of a rest, after each of which a line is printed.
const RESTS: u32 = 30;
/// The fields that have the same value everywhere, in each version.
const UNIFORM: [&str; 3] = ["dense", "swapped", "handed"];

fn main() -> Result<(), Failure> {
    tcasm_tests::child::die_with_parent();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["produce", name, steps] => produce(name, steps.parse()?, None),
        ["produce", name, steps, rest] => produce(name, steps.parse()?, Some(rest.parse()?)),
        ["observe", name] => observe(name),
        _ => Err("steady produce NAME STEPS [BYTES], or steady observe NAME".into()),
    }
}

/// A simulation with one field of each kind.
struct Simulation {
    producer: Producer,
    /// Written whole in each step.
    dense: Field<u8, Ix1>,
    /// One page in a hundred is written in each step.
    sparse: Field<u8, Ix1>,
    /// Written at the start only.
    still: Field<u8, Ix1>,
    /// Bound to its other buffer in each step.
    swapped: Field<u8, Ix1>,
    spare: Buffer<u8, Ix1>,
    /// Handed over.
    handed: Field<u8, Ix1, HandedOver>,
}

impl Simulation {
    fn create(name: &str) -> Result<Self, Failure> {
        let builder = Producer::builder(name).capacity(128 * MIB);
        let mut producer = builder.memory(512 << 20).create()?;
        let dense = producer.field("dense", [16 * MIB]).add()?;
        let sparse = producer.field("sparse", [32 * MIB]).add()?;
        let still = producer.field("still", [16 * MIB]).add()?;
        let swapped = producer.field("swapped", [4 * MIB]).add()?;
        let spare = producer.buffer_like(swapped)?;
        let handed = producer.field("handed", [4 * MIB]);
        let handed = handed.handed_over().add()?;
        producer.view_mut(still)?.fill(1);
        Ok(Simulation {
            producer,
            dense,
            sparse,
            still,
            swapped,
            spare,
            handed,
        })
    }

    fn step(&mut self, step: u64) -> Result<(), Failure> {
        let (p, value) = (&mut self.producer, step as u8);
        p.view_mut(self.dense)?.fill(value);
        let mut sparse = p.view_mut(self.sparse)?;
        let pages = sparse.len() / page_size();
        for k in 0..pages / 100 {
            let page = mix(step, k as u64, 3) as usize % pages;
            sparse[page * page_size()] = value;
        }
        p.view_mut(self.spare)?.fill(value);
        self.spare = p.bind(self.swapped, self.spare)?;
        let mut handed = p.rewrite(self.handed)?;
        handed.iter_mut().for_each(|byte| byte.write(value));
        p.publish(step, 0.0)?;
        Ok(())
    }

    /// Returns the number of huge pages in the field that is not written.
    fn huge_pages(&self) -> Result<usize, Failure> {
        let view = self.producer.view(self.still)?;
        let bytes = view.as_slice().ok_or("a vector is contiguous")?;
        let bytes = bytes.as_ptr_range();
        let first = (bytes.start as usize).next_multiple_of(HUGE_PAGE);
        let end = bytes.end as usize / HUGE_PAGE * HUGE_PAGE;
        let pages = (first..end).step_by(HUGE_PAGE);
        let huge = pages.filter(|at| is_huge(&(*at..*at + HUGE_PAGE)).unwrap_or(false));
        Ok(huge.count())
    }

    /// Waits until the versions take at most `bytes`.
    fn rest(&self, bytes: u64) -> Result<(), Failure> {
        for _ in 0..RESTS {
            let held = self.producer.stats().held_bytes;
            if held <= bytes {
                return Ok(());
            }
            println!("resting held={held}");
            std::thread::sleep(REST / RESTS);
        }
        let held = self.producer.stats().held_bytes;
        Err(format!("{held} bytes are held after a rest of {REST:?}, not {bytes}").into())
    }

    fn report(&self) -> Result<(), Failure> {
        let (stats, huge) = (self.producer.stats(), self.huge_pages()?);
        let (held, shared) = (stats.held_bytes, stats.shared_bytes);
        let (versions, errors) = (stats.publishes, stats.tracker_errors);
        println!(
            "reached versions={versions} held={held} shared={shared} huge={huge} errors={errors}"
        );
        Ok(())
    }
}

fn produce(name: &str, steps: u64, rest: Option<u64>) -> Result<(), Failure> {
    let mut simulation = Simulation::create(name)?;
    for step in 1..=steps {
        simulation.step(step)?;
        // The test looks at the processes at each line, and soon after the last step they end.
        if step.is_multiple_of((steps / LINES).max(1)) && step != steps {
            simulation.report()?;
        }
    }
    if let Some(bytes) = rest {
        simulation.rest(bytes)?;
    }
    simulation.producer.close();
    Ok(())
}

fn observe(name: &str) -> Result<(), Failure> {
    let mut observer = Observer::attach_wait(name, Duration::from_secs(60))?;
    let mut before: Option<View> = None;
    loop {
        match observer.wait_newer(Duration::from_secs(1)) {
            Ok(version) => {
                let view = version.view()?;
                check(&view)?;
                // Two views at a time, as a program has that compares versions.
                if let Some(before) = before.replace(view) {
                    check(&before)?;
                }
            }
            Err(ObserveError::NotReady) => {}
            Err(ObserveError::EndOfStream) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Checks a byte of each page. The fields that are written whole must have the value of the step.
fn check(view: &View) -> Result<(), Failure> {
    let value = view.version().step() as u8;
    for field in UNIFORM {
        let bytes = view.bytes(field)?;
        let wrong = bytes.iter().step_by(page_size()).find(|b| **b != value);
        if let Some(wrong) = wrong {
            return Err(format!("{field:?} has {wrong} in a version of step {value}").into());
        }
    }
    let still = view.bytes("still")?;
    if still.iter().step_by(page_size()).any(|b| *b != 1) {
        return Err("a field that was never written has changed".into());
    }
    let sparse = view.bytes("sparse")?;
    std::hint::black_box(sparse.iter().step_by(page_size()).fold(0, |sum, b| sum ^ b));
    Ok(())
}
