//! A field that changes everywhere, published at a steady rate.

use crate::outcome::Outcome;
use std::time::{Duration, Instant};
use tcasm_producer::{Field, Producer};

/// Points along each axis of the field.
pub const SIDE: usize = 256;
/// Number of versions per second.
pub const RATE: u32 = 10;
/// Number of seconds for which versions are published.
pub const SECONDS: u32 = 12;

/// A producer with the field `t`.
pub struct Steady {
    producer: Producer,
    field: Field<f64, ndarray::Ix3>,
    step: u64,
}

impl Steady {
    /// Creates the producer and publishes the first version.
    pub fn start(name: &str) -> Outcome<Self> {
        let bytes = SIDE.pow(3) * size_of::<f64>();
        let mut producer = Producer::builder(name).capacity(bytes).create()?;
        let field = producer.field::<f64, _>("t", [SIDE; 3]).add()?;
        producer.view_mut(field)?.fill(0.0);
        producer.publish(0, 0.0)?;
        Ok(Steady {
            producer,
            field,
            step: 0,
        })
    }

    /// Publishes for [`SECONDS`]. Returns the time that it took, including a pause after the last
    /// version.
    pub fn run(&mut self) -> Outcome<Duration> {
        let begin = Instant::now();
        for count in 1..=RATE * SECONDS {
            self.write()?;
            let due = begin + Duration::from_secs(1) * count / RATE;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.producer.publish(self.step, self.step as f64)?;
        }
        std::thread::sleep(Duration::from_secs(1) / RATE);
        Ok(begin.elapsed())
    }

    fn write(&mut self) -> Outcome<()> {
        self.step += 1;
        let value = self.step as f64;
        let mut field = self.producer.view_mut(self.field)?;
        for (place, cell) in field.iter_mut().enumerate() {
            *cell = value + place as f64;
        }
        Ok(())
    }
}
