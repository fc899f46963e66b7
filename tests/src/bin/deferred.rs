//! Runs one scenario of a deferred capture in a process of its own. See `tcasm_tests::deferred`.

use std::process::ExitCode;
use tcasm_tests::check::{Check, check_and_exit};
use tcasm_tests::deferred::{SCENARIOS, poke};

fn run(args: &[&str]) -> Check {
    match *args {
        ["poke", ref rest @ ..] => poke(rest),
        [name] => match SCENARIOS.iter().find(|(n, _)| *n == name) {
            Some((_, play)) => play(),
            None => Err(format!("there is no scenario {name:?}")),
        },
        _ => Err("usage: deferred SCENARIO | poke PID ADDRESS BYTES VALUE".to_owned()),
    }
}

fn main() -> ExitCode {
    check_and_exit(run)
}
