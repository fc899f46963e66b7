//! Computes statistics of a simulation until it ends.
//!
//! `statistics REGION N` computes moments and a histogram of all fields about once every N
//! versions. At the end it prints for how many versions it did so. `bars` starts it as a separate
//! process during a measurement.

use std::time::Duration;
use tcasm_analytics::{Range, dynamic};
use tcasm_observer::{ObserveError, Observer, Version};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const BINS: usize = 100;

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: statistics REGION N";
    let name = args.next().ok_or(usage)?;
    let every: u64 = args.next().ok_or(usage)?.parse()?;
    let mut observer = Observer::attach_wait(&name, Duration::from_secs(10))?;
    let (mut past, mut taken) = (0, 0);
    loop {
        match observer.wait_newer(Duration::from_secs(60)) {
            Ok(version) if version.number() / every == past => {}
            Ok(version) => {
                past = version.number() / every;
                compute(&version)?;
                taken += 1;
            }
            Err(ObserveError::EndOfStream) => break,
            Err(error) => return Err(error.into()),
        }
    }
    println!("{taken}");
    Ok(())
}

fn compute(version: &Version) -> Outcome<()> {
    let view = version.view()?;
    for field in &view.table().fields {
        let bytes = view.bytes_of(field)?;
        std::hint::black_box(dynamic::moments(field, bytes)?);
        std::hint::black_box(dynamic::histogram(field, bytes, BINS, Range::Auto)?);
    }
    Ok(())
}
