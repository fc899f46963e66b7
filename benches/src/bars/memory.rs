//! The memory that live memory and versions hold together.

use super::bar::{Bar, Unit};
use crate::workload::{BYTES, PAGE, Random, Simulation, random_pages, touch};
use std::time::{Duration, Instant};
use tcasm_observer::Observer;

/// Time until all pages that are not written should exist only once.
const SETTLING: Duration = Duration::from_secs(12);

/// Measures the memory while every step writes the same random 5 % of 512 MiB and an observer holds
/// the newest version.
pub fn measure() -> Vec<Bar> {
    let name = "bars-memory";
    let before = own_memory();
    let mut simulation = Simulation::new(name, BYTES);
    let mut observer = Observer::attach(name).expect("attached");
    let pages = random_pages(&mut Random(5), BYTES / PAGE, 5);
    let mut view = None;
    let start = Instant::now();
    while start.elapsed() < SETTLING {
        simulation.step += 1;
        let step = simulation.step;
        touch(simulation.memory(), &pages, step);
        simulation.publish();
        simulation.settle();
        let version = observer.latest().expect("a version");
        view = Some(version.view().expect("a view"));
    }
    let planes = simulation.producer.stats().held_bytes;
    // The observer runs in this process, and copies scattered chunks within its budget.
    let copies = observer.stats().expect("attached").copied_bytes;
    let together = own_memory() - before - copies + planes;
    drop(view);
    let parts = |bytes: u64| bytes as f64 / BYTES as f64;
    vec![
        Bar::new(
            "the same random 5 % of 512 MiB: live memory and versions together, in copies of the \
             field",
            parts(together),
            1.2,
            Unit::Ratio,
        ),
        Bar::figure(
            "the same: what an observer copies besides, of at most 256 MiB",
            parts(copies),
            Unit::Ratio,
        ),
    ]
}

/// Returns the bytes of this process's memory that belong to no file.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("RssAnon:"));
    let kib = line.and_then(|l| l.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.expect("a line RssAnon") * 1024
}
