//! The command `tcasm`: looks at running simulations, exports their data and writes checkpoints of
//! them.
#![deny(unsafe_code)]

mod args;
mod commands;
mod demo;
mod exit;
mod files;
mod log;
mod npy;
mod output;
mod plain;
mod preview;
mod region;
mod schedule;
mod signals;
mod storage;

use args::Cli;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    log::to_stderr();
    exit::report(commands::run(cli.command))
}
