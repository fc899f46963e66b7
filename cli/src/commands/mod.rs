//! One file per command.

mod checkpoint;
mod checkpoints;
mod completions;
mod demo;
mod doctor;
mod dump;
mod export;
mod follow;
mod info;
mod keep;
mod ls;
mod restore;
mod stats;
mod verify;
mod view;
mod watch;

use crate::args::Command;
use crate::failure::Failure;

/// Runs the command that the command line names.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Ls { format } => ls::run(format),
        Command::Info(args) => info::run(&args),
        Command::Doctor { format } => doctor::run(format),
        Command::Dump(args) => dump::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::View(args) => view::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Checkpoint(args) => checkpoint::run(&args),
        Command::Keep(args) => keep::run(&args),
        Command::Checkpoints(args) => checkpoints::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Demo { dir } => demo::run(dir.as_deref()),
        Command::Completions { shell } => completions::run(shell),
        Command::DemoProducer { name, steps, pause } => crate::demo::simulate(&name, steps, pause),
    }
}
