//! `tcasm demo`: starts a small simulation, watches it, writes a checkpoint of it (where HDF5 is
//! there), and removes everything again.

mod child;

use crate::demo::SIZE;
use crate::failure::{Code, Failure};
use crate::files::demo::{DemoArgs, DemoCheckpoint};
use crate::output::{self, number, scalar};
use crate::region;
use child::Simulation;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tcasm_analytics::dynamic;
use tcasm_observer::{ObserveError, Observer, Version};

const STEPS: u64 = 300;
/// Milliseconds between steps: six seconds in total.
const PAUSE: u64 = 20;
/// Steps between lines of statistics.
const LINES: u64 = 50;
/// Timeout for the start of the simulation and for each step.
const TIMEOUT: Duration = Duration::from_secs(5);

pub fn run(args: &DemoArgs) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let registered = flag::register(signal, stop.clone());
        registered.map_err(|e| Failure::new(Code::Other, format!("cannot handle signals: {e}")))?;
    }
    let mut checkpoint = DemoCheckpoint::new(args)?;
    let name = format!("demo-{}", std::process::id());
    let mut simulation = Simulation::start(&name, STEPS, PAUSE)?;
    let mut observer = simulation.attach(TIMEOUT)?;
    output::text(&format!(
        "Process {} computes waves on a pond of {SIZE} x {SIZE} points; this process observes it.\n\
         In another terminal, try:  tcasm info {name}\n\n",
        simulation.pid()
    ))?;
    let end = watch(&mut observer, &name, &mut checkpoint, &stop);
    let ended = simulation.end();
    end.and(ended)?;
    summary(&observer, &checkpoint)
}

/// Reads every step until the simulation ends.
fn watch(
    observer: &mut Observer,
    name: &str,
    checkpoint: &mut DemoCheckpoint,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let bar = ProgressBar::new(STEPS);
    if let Ok(style) = ProgressStyle::with_template("step {pos} of {len} {wide_bar} {eta}") {
        bar.set_style(style);
    }
    while !stop.load(Ordering::Relaxed) {
        let version = match observer.next(TIMEOUT) {
            Ok(version) => version,
            Err(ObserveError::EndOfStream) => return Ok(()),
            Err(ObserveError::NotReady) => return Err(silent()),
            Err(error) => return Err(error.into()),
        };
        bar.set_position(version.step());
        if version.step().is_multiple_of(LINES) {
            let line = statistics(&version)?;
            bar.suspend(|| output::text(&line))?;
        }
        if let Some(line) = checkpoint.see(name, &version)? {
            bar.suspend(|| output::text(&line))?;
        }
    }
    Err(Failure::new(Code::Interrupted, "interrupted"))
}

fn silent() -> Failure {
    let text = format!(
        "the simulation has published nothing for {TIMEOUT:?}; the machine may be overloaded"
    );
    Failure::new(Code::NoAnswer, text)
}

fn statistics(version: &Version) -> Result<String, Failure> {
    let view = version.view()?;
    let desc = region::field(version, "height")?;
    let moments = dynamic::moments(desc, view.bytes_of(desc)?)?;
    let Some(height) = moments.components.first() else {
        return Ok(String::new());
    };
    let exact = |v: Option<_>| v.map_or("-".to_owned(), scalar);
    Ok(format!(
        "step {:>3}  t = {:<4}  height {:>9} .. {:<8}  std {:<9}  {:>3} of {} pages changed\n",
        version.step(),
        number(version.time()),
        exact(height.min),
        exact(height.max),
        height.std.map_or("-".to_owned(), number),
        version.changed_pages(),
        pages(version),
    ))
}

/// Returns the number of pages of all fields of a version.
fn pages(version: &Version) -> u64 {
    let fields = version.table().fields.iter();
    fields
        .map(|f| f.bytes().div_ceil(tcasm_core::sys::mem::page_size() as u64))
        .sum()
}

fn summary(observer: &Observer, checkpoint: &DemoCheckpoint) -> Result<(), Failure> {
    let info = observer.info()?;
    let count = |name| info.counter(name).unwrap_or(0);
    output::text(&format!(
        "\n{} versions were published, {} skipped. \
         A call of publish took {:.1} us (median).\n{}\n",
        count("Publishes"),
        count("Skips"),
        info.publish_us[0],
        checkpoint.summary()
    ))
}
