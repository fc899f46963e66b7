//! The command `tcasm`: looks at running simulations, exports their data and writes checkpoints of
//! them.
//!
//! It is a library so that two programs of this package can use it: the command, and `tcasm-pages`,
//! which writes the manual pages of the command. It has no interface for other packages.
#![deny(unsafe_code)]

mod agreed;
mod args;
mod commands;
mod demo;
mod exit;
mod failure;
// The commands that need HDF5, or what stands in their place.
#[cfg_attr(not(feature = "files"), path = "no_files/mod.rs")]
mod files;
mod gathered;
mod log;
mod mirror;
mod named;
mod npy;
mod output;
#[cfg(feature = "pages")]
pub mod pages;
mod part;
mod plain;
mod preview;
mod ranks;
mod region;
mod several;
mod signals;
mod subject;
mod target;
mod wait;

use args::Cli;
use clap::Parser;
use std::process::ExitCode;

/// Runs the command that the arguments of this process name. Returns its exit status.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    log::to_stderr();
    exit::report(commands::run(cli.command))
}
