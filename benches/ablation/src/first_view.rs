//! What a version costs an observer that has just attached: one mapping for each run of pages.

use std::time::{Duration, Instant};
use tcasm_compare::failure::Failure;
use tcasm_compare::methods::Sink;
use tcasm_compare::methods::tcasm::TcasmSink;

/// The longest time to wait for a version.
const PATIENCE: Duration = Duration::from_secs(10);
/// The distance between two bytes that are read.
const PAGE: usize = 4096;

/// The cost of the first view of an observer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstView {
    /// Number of mappings of the process that the view added.
    pub mappings: u64,
    /// Time to map the version and to read a byte of each page, in milliseconds.
    pub ms: f64,
}

impl FirstView {
    /// Attaches to the region, takes the newest version and measures.
    pub fn measure() -> Result<FirstView, Failure> {
        let mut sink = TcasmSink::attach()?;
        let before = mappings()?;
        let start = Instant::now();
        sink.take(None, PATIENCE)?;
        let pages = sink.bytes()?.iter().step_by(PAGE);
        std::hint::black_box(pages.fold(0_u8, |sum, byte| sum ^ byte));
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let mappings = mappings()?.saturating_sub(before);
        Ok(FirstView { mappings, ms })
    }
}

/// Returns the number of mappings of this process.
fn mappings() -> Result<u64, Failure> {
    let maps = std::fs::read_to_string("/proc/self/maps");
    let maps = maps.map_err(Failure::method("reading /proc/self/maps"))?;
    Ok(maps.lines().count() as u64)
}
