//! A simulation that writes the same random pages in every step.

use super::bar::{Bar, Unit};
use crate::faults::minor_faults;
use crate::samples::Samples;
use crate::workload::{BYTES, PAGE, Random, Simulation, random_pages, touch};
use std::time::{Duration, Instant};

const ROUNDS: usize = 40;
/// Time for the library to notice that no longer all pages are written in each step, to learn the
/// pattern, and to share all chunks with planes.
const LEARNING: Duration = Duration::from_secs(10);

/// Measures publishing 10 % of 512 MiB, compared with copying only these pages.
pub fn measure() -> Vec<Bar> {
    let mut simulation = Simulation::new("bars-stable", BYTES);
    let mut copy = vec![1u8; BYTES];
    let mut pages = random_pages(&mut Random(11), BYTES / PAGE, 10);
    pages.sort_unstable();
    let [mut publish, mut bare] = [Samples::default(), Samples::default()];
    let mut faults = 0;
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < ROUNDS {
        simulation.settle();
        let before = minor_faults();
        simulation.step += 1;
        let step = simulation.step;
        touch(simulation.memory(), &pages, step);
        let taken = minor_faults() - before;
        let mut now = Samples::default();
        now.time(|| simulation.publish());
        simulation.settle();
        let mut pure = Samples::default();
        pure.time(|| copy_pages(simulation.memory(), &mut copy, &pages));
        if start.elapsed() > LEARNING {
            rounds += 1;
            faults += taken;
            publish.extend(&now);
            bare.extend(&pure);
        }
    }
    vec![
        Bar::new(
            "the same random 10 % of 512 MiB: publish, in copies of these pages",
            publish.median() / bare.median(),
            1.3,
            Unit::Ratio,
        ),
        Bar::new(
            "the same: page faults in a step",
            faults as f64 / ROUNDS as f64,
            0.0,
            Unit::Count,
        ),
    ]
}

fn copy_pages(from: &[u8], into: &mut [u8], pages: &[usize]) {
    for page in pages {
        let bytes = page * PAGE..(page + 1) * PAGE;
        into[bytes.clone()].copy_from_slice(&from[bytes]);
    }
    // Nobody reads the copy, so the compiler could leave it out.
    std::hint::black_box(into);
}
