//! `tcasm checkpoint`: writes versions of running simulations to files.
//!
//! A version is pinned only while it is written. With increments, the version of the last
//! checkpoint stays pinned as well. A file that cannot be written does not end the program: it runs
//! until the simulations end.

mod progress;
mod watch;
mod writer;

use crate::failure::{Code, Failure};
use crate::files::args::CheckpointArgs;
use crate::signals::Signals;
use progress::Output;
use std::collections::BTreeSet;

pub fn run(args: &CheckpointArgs) -> Result<(), Failure> {
    let distinct: BTreeSet<&String> = args.names.iter().collect();
    if distinct.len() != args.names.len() {
        return Err(Failure::new(
            Code::Usage,
            "a region is named twice; name each region once",
        ));
    }
    let (signals, progress) = (Signals::catch()?, Output::new());
    let results: Vec<Result<(), Failure>> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for name in &args.names {
            let (signals, progress) = (&signals, &progress);
            threads.push(scope.spawn(move || watch::run(name, args, signals, progress)));
        }
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(panicked))
            .collect()
    });
    verdict(results)
}

fn panicked(_: Box<dyn std::any::Any + Send>) -> Result<(), Failure> {
    Err(Failure::new(
        Code::Other,
        "a thread of this program panicked (see above); please report it",
    ))
}

/// Returns the first failure, which sets the exit status. Prints the messages of the others.
fn verdict(results: Vec<Result<(), Failure>>) -> Result<(), Failure> {
    let mut failures = results.into_iter().filter_map(Result::err);
    let Some(first) = failures.next() else {
        return Ok(());
    };
    for other in failures {
        crate::output::note(&other.message);
    }
    Err(first)
}
