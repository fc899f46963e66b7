//! Checks that run in a program of their own, which prints the result.

use std::process::ExitCode;

/// The result of a check: nothing, or a text that says what is violated.
pub type Check = Result<(), String>;

/// Runs `check` with the arguments of this program, prints "holds" or "violated: ...", and returns
/// the status to exit with. The program ends when its parent does.
pub fn check_and_exit(check: impl Fn(&[&str]) -> Check) -> ExitCode {
    crate::child::die_with_parent();
    let args: Vec<String> = std::env::args().skip(1).collect();
    match check(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
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
