//! The simulation of the demo: rain on a pond of uneven depth. It publishes every step.

mod pond;

pub use pond::SIZE;

use crate::failure::{Code, Failure};
use pond::Pond;
use std::error::Error;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tcasm_producer::Producer;

/// Simulated time between two steps.
const TIME_STEP: f64 = 0.01;

/// Computes `steps` steps in the region `name`, with a pause of `pause` milliseconds after each.
/// Ends early when standard input ends, because the process that started it is gone then.
pub fn simulate(name: &str, steps: u64, pause: u64) -> Result<(), Failure> {
    compute(name, steps, Duration::from_millis(pause), &end_of_input())
        .map_err(|error| Failure::new(Code::Other, error.to_string()))
}

fn compute(
    name: &str,
    steps: u64,
    pause: Duration,
    stop: &AtomicBool,
) -> Result<(), Box<dyn Error>> {
    let bytes = SIZE * SIZE * size_of::<f64>();
    let mut producer = Producer::builder(name)
        .capacity(3 * bytes)
        .attr("simulation", "rain on a pond")
        .create()?;
    let spacing = [1.0 / SIZE as f64; 3];
    let height = producer
        .field::<f64, _>("height", [SIZE, SIZE])
        .unit("m")
        .mesh([0.0; 3], spacing)
        .add()?;
    let depth = producer
        .field::<f64, _>("depth", [SIZE, SIZE])
        .unit("m")
        .mesh([0.0; 3], spacing)
        .add()?;
    // Two buffers take turns: the one with the older step is overwritten with the next.
    let (mut now, mut next) = (height.buffer(), producer.buffer_like(height)?);
    let mut pond = Pond::new(producer.view_mut(depth)?);
    for step in 1..=steps {
        let (now_view, next_view, depth_view) = producer.views_mut((now, next, depth.buffer()))?;
        pond.step(now_view.view(), next_view, depth_view.view());
        producer.bind(height, next)?;
        (now, next) = (next, now);
        producer.publish(step, step as f64 * TIME_STEP)?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(pause);
    }
    Ok(())
}

/// Returns a flag that becomes true when standard input ends.
fn end_of_input() -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let flag = ended.clone();
    std::thread::spawn(move || {
        let mut rest = [0; 64];
        while matches!(std::io::stdin().read(&mut rest), Ok(n) if n > 0) {}
        flag.store(true, Ordering::Relaxed);
    });
    ended
}
