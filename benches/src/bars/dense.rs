//! A buffer that is rewritten whole in each step, with deferred capture.

use super::bar::{Bar, Unit};
use super::floor::Floor;
use crate::samples::Samples;
use crate::workload::{BYTES, Simulation, producer_with};
use std::time::Duration;
use tcasm_core::sys::uffd::Faults;
use tcasm_producer::Builder;

const ROUNDS: usize = 40;
/// Size of a block, in bytes. All passes over a block run before the next block is written, so a
/// block stays in the cache.
const BLOCK: usize = 16 << 10;

struct Dense {
    simulation: Simulation,
    copy: Vec<u8>,
}

impl Dense {
    fn new(promised: bool) -> Self {
        let settings = |builder: Builder| builder.no_kernel_writes(promised);
        let (producer, field) = producer_with("bars-dense", BYTES, settings);
        let mut this = Dense {
            simulation: Simulation::over(producer, field),
            copy: vec![1; BYTES],
        };
        for _ in 0..12 {
            this.step(1);
            this.simulation.publish();
            this.settle();
        }
        this
    }

    /// Writes all of the buffer, each block `passes` times.
    fn step(&mut self, passes: usize) {
        self.simulation.step += 1;
        let step = self.simulation.step;
        for block in self.simulation.memory().chunks_mut(BLOCK) {
            for pass in 0..passes {
                std::hint::black_box(&mut *block).fill((step as usize + pass) as u8);
            }
        }
    }

    /// Waits until the last version is visible.
    fn settle(&mut self) {
        self.simulation.settle();
    }

    fn copy_all(&mut self) {
        let Dense { simulation, copy } = self;
        copy.copy_from_slice(simulation.memory());
    }
}

/// Measures publish, the time until the version is visible, and the step that follows at once.
pub fn measure() -> Vec<Bar> {
    bars(Dense::new(false), Floor::new(BYTES, Faults::All))
}

/// Measures the same where the program promises that no system call writes into the field
/// ([`no_kernel_writes`](tcasm_producer::Builder::no_kernel_writes)), so that capture is also
/// deferred for an ordinary user.
pub fn measure_promised() -> Vec<Bar> {
    let floor = [Faults::All, Faults::User];
    let floor = floor
        .into_iter()
        .find_map(|faults| Floor::new(BYTES, faults));
    let mut bars = bars(Dense::new(true), floor);
    for bar in &mut bars {
        bar.what.insert_str(0, "with `no_kernel_writes`: ");
    }
    bars
}

fn bars(mut dense: Dense, mut floor: Option<Floor>) -> Vec<Bar> {
    let [mut publish, mut visible, mut memcpy, mut plain, mut after] =
        std::array::from_fn(|_| Samples::default());
    for _ in 0..ROUNDS {
        plain.time(|| dense.step(1));
        memcpy.time(|| dense.copy_all());
        floor.iter_mut().for_each(Floor::measure);
        dense.step(1);
        visible.time(|| {
            publish.time(|| dense.simulation.publish());
            dense.settle();
        });
        dense.step(1);
        dense.simulation.publish();
        after.time(|| dense.step(1));
        dense.settle();
    }
    let copy = memcpy.median();
    let mut bars = vec![Bar::time(
        "publish, 512 MiB, all of it written in each step",
        &publish,
        100.0,
    )];
    if let Some(floor) = floor {
        let beyond = (publish.median() - floor.times().median()) / 1e3;
        bars.extend([
            Bar::limit(
                "its floor: protecting it, and waking a thread",
                floor.times(),
            ),
            Bar::new("publish beyond its floor", beyond, 30.0, Unit::Us),
        ]);
    }
    bars.extend([
        Bar::new(
            "the same, as a part of memcpy of the buffer",
            publish.median() / copy,
            1.0 / 300.0,
            Unit::Ratio,
        ),
        Bar::new(
            "visible after publish, in memcpys of the buffer",
            visible.median() / copy,
            1.3,
            Unit::Ratio,
        ),
        Bar::new(
            "added to a step that only writes, right after publish, in memcpys",
            (after.median() - plain.median()) / copy,
            1.3,
            Unit::Ratio,
        ),
    ]);
    bars.push(long_step(&mut dense, visible.median(), copy));
    bars
}

/// Measures a step that is five times as long as the capture.
fn long_step(dense: &mut Dense, sweep: f64, copy: f64) -> Bar {
    let mut once = Samples::default();
    (0..3).for_each(|_| once.time(|| dense.step(50)));
    let passes = (5.0 * sweep / (once.median() / 50.0)).ceil() as usize;
    let [mut plain, mut after] = [Samples::default(), Samples::default()];
    for _ in 0..15 {
        plain.time(|| dense.step(passes));
        dense.simulation.publish();
        after.time(|| dense.step(passes));
        dense.settle();
        std::thread::sleep(Duration::from_millis(1));
    }
    let added = (after.median() - plain.median()) / copy;
    Bar::new(
        "added to a step five times as long as the capture, in memcpys",
        added,
        0.3,
        Unit::Ratio,
    )
}
