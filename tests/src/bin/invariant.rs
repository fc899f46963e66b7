//! Checks one invariant in a process of its own: `invariant i3`. See `tcasm_tests::invariants`.

use std::process::ExitCode;
use tcasm_tests::invariants::{CHECKS, Check, die_in_publish, hold};

fn run(args: &[&str]) -> Check {
    match *args {
        ["hold", name] => hold(name),
        ["die-in-publish", name] => die_in_publish(name),
        [check] => match CHECKS.iter().find(|(name, _)| *name == check) {
            Some((_, run)) => run(),
            None => Err(format!("there is no check {check:?}")),
        },
        _ => {
            Err("usage: invariant i1 | ... | i11 | hold REGION | die-in-publish REGION".to_owned())
        }
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
