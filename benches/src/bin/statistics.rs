//! Take statistics of a simulation until it ends: `statistics REGION N` takes moments and histogram of all fields of every
//! N-th version that comes by, and tells how many it took. A process of its own beside what `bars` measures.

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
                look(&version)?;
                taken += 1;
            }
            Err(ObserveError::EndOfStream) => break,
            Err(error) => return Err(error.into()),
        }
    }
    println!("{taken}");
    Ok(())
}

fn look(version: &Version) -> Outcome<()> {
    let view = version.view()?;
    for field in &view.table().fields {
        let bytes = view.bytes_of(field)?;
        std::hint::black_box(dynamic::moments(field, bytes)?);
        std::hint::black_box(dynamic::histogram(field, bytes, BINS, Range::Auto)?);
    }
    Ok(version.check()?)
}
