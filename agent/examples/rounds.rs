//! Measures rounds of agents: `mpirun -n 8 rounds [COUNT] [LOOK] [PAUSE]`.
//!
//! Each process begins a round, looks each `LOOK` microseconds [200] whether it is over, and begins
//! the next one `PAUSE` microseconds [2000] later. Process 0 prints the times of its `COUNT` rounds
//! [1000]. With Open MPI 4 on one machine, `--mca btl self,tcp` makes them go through sockets.

use std::time::{Duration, Instant};
use tcasm_agent::Transport;
use tcasm_agent::mpi::Job;
use tcasm_agent::offer::Offer;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut job = Job::start()?;
    let [count, look, pause] = arguments([1000, 200, 2000])?;
    let (look, pause) = (Duration::from_micros(look), Duration::from_micros(pause));
    let mut times = Vec::new();
    for _ in 0..count {
        let start = Instant::now();
        job.rounds.begin(&Offer::NOTHING.encode())?;
        while job.rounds.poll()?.is_none() {
            std::thread::sleep(look);
        }
        times.push(start.elapsed());
        std::thread::sleep(pause);
    }
    if job.rank == 0 {
        print(job.agents, times);
    }
    Ok(())
}

/// Returns the arguments, or these numbers instead of those that are lacking.
fn arguments(mut numbers: [u64; 3]) -> Result<[u64; 3], Failure> {
    for (number, text) in numbers.iter_mut().zip(std::env::args().skip(1)) {
        let wrong = |why| format!("{text:?}: {why}; usage: rounds [COUNT] [LOOK] [PAUSE]");
        *number = text.parse().map_err(wrong)?;
    }
    Ok(numbers)
}

fn print(agents: usize, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: f64| {
        let at = (times.len() as f64 * part) as usize;
        let time = times.get(at.min(times.len().saturating_sub(1)));
        time.map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    println!(
        "{agents} agents: {} rounds, median {:.2} ms, p99 {:.2} ms, max {:.2} ms",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}
