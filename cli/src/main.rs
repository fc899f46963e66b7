//! The command `tcasm`: look at running simulations, take data out of them, keep checkpoints of them.
#![deny(unsafe_code)]

mod args;
mod commands;
mod demo;
mod exit;
mod files;
mod npy;
mod output;
mod preview;
mod region;
mod schedule;
mod signals;
mod storage;

use args::Cli;
use clap::Parser;
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    log_to_stderr();
    exit::report(commands::run(cli.command))
}

/// `TCASM_LOG` says what is logged, as `RUST_LOG` does for others; warnings unless set.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("TCASM_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let colours = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours && std::io::stderr().is_terminal())
        .init();
}
