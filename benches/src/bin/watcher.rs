//! Reads the changed pages of each step of a simulation: `watcher REGION BOARD PERCENT`. `bars`
//! starts many of them, and ends them.

use std::process::ExitCode;
use tcasm_benches::outcome::Outcome;
use tcasm_benches::programs;
use tcasm_benches::watch::Watcher;

fn main() -> ExitCode {
    programs::outcome(run())
}

fn run() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: watcher REGION BOARD PERCENT";
    let watcher = Watcher {
        region: args.next().ok_or(usage)?,
        board: args.next().ok_or(usage)?.into(),
        percent: args.next().ok_or(usage)?.parse()?,
    };
    watcher.run()
}
