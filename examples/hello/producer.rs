//! The smallest producer: a field of eight numbers, published ten times per second for half a
//! minute.

use std::{thread::sleep, time::Duration};
use tcasm_examples::{Outcome, region_name};
use tcasm_producer::Producer;

fn main() -> Outcome {
    let mut producer = Producer::builder(&region_name("hello"))
        .capacity(1 << 20)
        .create()?;
    let heat = producer.field::<f64, _>("heat", [8]).unit("K").add()?;

    for step in 1..=300 {
        producer.view_mut(heat)?.fill(step as f64);
        producer.publish(step, step as f64 * 0.1)?;
        sleep(Duration::from_millis(100));
    }
    Ok(())
}
