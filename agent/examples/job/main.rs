//! The processes of a job, for tests, which check every value.
//!
//! - `job rank GROUP STEPS MILLISECONDS`: a rank. It publishes so many steps, one each so many
//!   milliseconds, and exchanges a number with its neighbours in each, as a halo exchange does.
//! - `job alone GROUP STEP BEGAN MILLISECONDS`: a rank without MPI, for jobs whose ranks do not
//!   die together. It goes on from STEP, which the job had at the time BEGAN (milliseconds of
//!   Unix time), by one step each so many milliseconds, and prints each tenth step.
//! - `job agent ARGUMENTS...`: `tcasm-agent` with a use that checks each agreed step. It prints a
//!   line for each.
//! - `job read GROUP`: an observer. For each line that it reads, `agreed` or `latest`, it prints
//!   that step, with what it has found there. For `steps` it prints all that its host has.
//! - `job keep REGION`: a keeper, which holds the last version of a rank that dies. It prints a
//!   line when it has attached to a rank, and one about what it holds.
//! - `job follow GROUP`: an observer that prints each step when all local ranks have it, until they
//!   end.

mod agent;
mod fields;
mod keeper;
mod ranks;
mod reader;

use std::error::Error;
use std::io::Write;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    tcasm_tests::child::die_with_parent();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let all: Vec<&str> = words.iter().map(String::as_str).collect();
    match all[..] {
        ["rank", group, steps, pause] => ranks::coupled(group, steps.parse()?, pause.parse()?),
        ["alone", group, step, began, pause] => {
            let clock = ranks::Clock {
                step: step.parse()?,
                began: began.parse()?,
                pause: pause.parse()?,
            };
            ranks::alone(group, &clock)
        }
        ["agent", ref arguments @ ..] => std::process::exit(agent::run(arguments)),
        ["read", group] => reader::read(group),
        ["keep", region] => keeper::keep(region),
        ["follow", group] => reader::follow(group),
        _ => Err(format!("no command {words:?}").into()),
    }
}

fn host() -> String {
    let name = nix::unistd::gethostname().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Prints a line at once.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
