//! A simulation that writes pages: in the memory of the method, and in plain memory for comparison.

use crate::case::Case;
use crate::failure::Failure;
use crate::held;
use crate::methods::{Method, Source};
use crate::simulation::Simulation;
use crate::sys::memory::Memory;
use crate::workload::{DENSE_STEPS, write_page};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Number of parts of a step. After writing each part of its pages, a step computes for one part of
/// its time.
const PARTS: usize = 64;

/// The simulation of a case with a pattern.
pub struct Pages {
    case: Case,
    source: Box<dyn Source>,
    bare: Memory,
    own_bytes: u64,
    /// The pages that the next steps write. The first entry belongs to step `first`.
    pages: Vec<Vec<usize>>,
    first: u64,
    compute: Duration,
}

impl Pages {
    /// Creates the plain memory and the memory of the method.
    pub fn new(case: &Case, method: &dyn Method) -> Result<Self, Failure> {
        let mut bare = Memory::private(case.bytes())?;
        bare.keep_from_children()?;
        bare.bytes_mut().fill(1);
        Ok(Pages {
            own_bytes: held::bytes(std::process::id() as i32, &case.dir)?,
            source: method.source(case)?,
            case: case.clone(),
            bare,
            pages: Vec::new(),
            first: 0,
            compute: Duration::ZERO,
        })
    }
}

impl Simulation for Pages {
    fn own_bytes(&self) -> u64 {
        self.own_bytes
    }

    fn prepare(&mut self, steps: Range<u64>) {
        self.first = steps.start;
        self.pages = steps.map(|s| self.case.workload.pages_of(s)).collect();
    }

    fn bare_step(&mut self, step: u64) {
        let start = Instant::now();
        let pages = &self.pages[(step - self.first) as usize];
        sweep(self.bare.bytes_mut(), pages, step, self.compute);
        if (DENSE_STEPS..self.case.first_burst()).contains(&step) {
            let writing = start.elapsed().saturating_sub(self.compute);
            let own = Duration::from_secs_f64(self.case.compute_ms.max(0.0) / 1e3);
            self.compute = own + writing.mul_f64(self.case.compute_ratio.max(0.0));
        }
    }

    fn begin(&mut self, step: u64) -> Result<(), Failure> {
        self.source.begin(&self.pages[(step - self.first) as usize])
    }

    fn step(&mut self, step: u64) -> Result<(), Failure> {
        let pages = &self.pages[(step - self.first) as usize];
        sweep(self.source.memory(), pages, step, self.compute);
        Ok(())
    }

    fn publish(&mut self, step: u64) -> Result<bool, Failure> {
        self.source.publish(step)
    }

    fn clean_up(&mut self) {
        self.source.clean_up();
    }
}

/// Writes the pages part by part, and computes after each part for its share of `compute`.
fn sweep(memory: &mut [u8], pages: &[usize], step: u64, compute: Duration) {
    let part = pages.len().div_ceil(PARTS).max(1);
    for chunk in pages.chunks(part) {
        for page in chunk {
            write_page(memory, *page, step);
        }
        let until = Instant::now() + compute / PARTS as u32;
        while !compute.is_zero() && Instant::now() < until {
            std::hint::spin_loop();
        }
    }
}
