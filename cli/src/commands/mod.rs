//! One file per command. The commands that need HDF5 are in [`crate::files`].

mod clean;
mod completions;
mod demo;
mod doctor;
mod dump;
mod hostbuffer;
mod info;
mod keep;
mod ls;
mod mirror;
mod run;
mod stats;
mod view;
mod watch;

use crate::args::Command;
use crate::failure::Failure;
use crate::files;

/// Runs the command that the command line names.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Ls { format, ranks } => ls::run(format, ranks),
        Command::Info(args) => info::run(&args),
        Command::Doctor { format } => doctor::run(format),
        Command::Dump(args) => dump::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::View(args) => view::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Mirror(args) => mirror::run(&args),
        Command::Files(command) => files::run(command),
        Command::Run(args) => run::run(&args),
        Command::Keep(args) => keep::run(&args),
        Command::Hostbuffer(args) => hostbuffer::run(&args),
        Command::Clean { dry_run } => clean::run(dry_run),
        Command::Demo(args) => demo::run(&args),
        Command::Completions { shell } => completions::run(shell),
        Command::DemoProducer { name, steps, pause } => crate::demo::simulate(&name, steps, pause),
    }
}
