//! Runs one scenario of a deferred capture in a process of its own. See `tcasm_tests::deferred`.

use std::process::ExitCode;
use tcasm_tests::deferred::{Check, SCENARIOS, poke};

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
    tcasm_tests::child::die_with_parent();
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => {
            println!("holds");
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!("violated: {what}");
            ExitCode::FAILURE
        }
    }
}
