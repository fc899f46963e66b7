//! The cost of a version for an observer that has just attached: a mapping for each run of pages.

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
        std::hint::black_box(read(&sink)?);
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let mappings = mappings()?.saturating_sub(before);
        Ok(FirstView { mappings, ms })
    }
}

/// Reads a byte of each page of all fields.
fn read(sink: &TcasmSink) -> Result<u8, Failure> {
    let Some(view) = sink.view() else {
        return Ok(0);
    };
    let mut sum = 0;
    for field in &view.version().table().fields {
        let bytes = view.bytes_of(field);
        let bytes = bytes.map_err(Failure::method("reading the version"))?;
        sum = bytes.iter().step_by(PAGE).fold(sum, |sum, byte| sum ^ byte);
    }
    Ok(sum)
}

/// Returns the number of mappings of this process.
fn mappings() -> Result<u64, Failure> {
    let maps = std::fs::read_to_string("/proc/self/maps");
    let maps = maps.map_err(Failure::method("reading /proc/self/maps"))?;
    Ok(maps.lines().count() as u64)
}
