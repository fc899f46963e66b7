//! Runs a command for several regions at once.

use crate::failure::{Code, Failure};
use crate::output;
use std::any::Any;
use std::collections::BTreeSet;

/// Calls `run` with each name, on a thread of its own. Returns the first failure, which sets the
/// exit status, and prints the messages of the others.
pub fn each(
    names: &[String],
    run: impl Fn(&str) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let distinct: BTreeSet<&String> = names.iter().collect();
    if distinct.len() != names.len() {
        return Err(Failure::new(
            Code::Usage,
            "a region is named twice; name each region once",
        ));
    }
    let run = &run;
    let results: Vec<Result<(), Failure>> = std::thread::scope(|scope| {
        let threads = names.iter().map(|name| scope.spawn(move || run(name)));
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|result| result.unwrap_or_else(panicked))
            .collect()
    });
    verdict(results)
}

fn panicked(_: Box<dyn Any + Send>) -> Result<(), Failure> {
    Err(Failure::new(
        Code::Other,
        "a thread of this program panicked (see above); please report it",
    ))
}

fn verdict(results: Vec<Result<(), Failure>>) -> Result<(), Failure> {
    let mut failures = results.into_iter().filter_map(Result::err);
    let Some(first) = failures.next() else {
        return Ok(());
    };
    for other in failures.filter(|failure| !failure.message.is_empty()) {
        output::note(&other.message);
    }
    Err(first)
}
