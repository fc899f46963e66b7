//! Checks one invariant in a process of its own: `invariant i3`. See `tcasm_tests::invariants`.

use std::process::ExitCode;
use tcasm_tests::check::{Check, check_and_exit};
use tcasm_tests::invariants::{CHECKS, die_in_publish, hold};

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
    check_and_exit(run)
}
