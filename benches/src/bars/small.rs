//! Publishing in a small region.

use super::bar::Bar;
use crate::samples::Samples;
use crate::workload::Simulation;

/// Measures publishing one page of 1 MiB.
pub fn measure() -> Vec<Bar> {
    let mut simulation = Simulation::new("bars-small", 1 << 20);
    let mut samples = Samples::default();
    for _ in 0..20_000 {
        simulation.step += 1;
        let step = simulation.step;
        simulation.memory()[5000] = step as u8;
        samples.time(|| {
            simulation.publish();
            simulation.settle();
        });
    }
    vec![Bar::time(
        "publish and visible, one page of 1 MiB",
        &samples,
        15.0,
    )]
}
