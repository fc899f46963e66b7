//! The command line. The commands are in this file, or in [`crate::files`] if they need HDF5; their
//! arguments are in one file per group of commands.

mod component;
mod format;
mod hostbuffer;
mod keep;
mod look;
mod mirror;
mod run;
pub mod values;
mod view;
mod wait;

use crate::files::demo::DemoArgs;
use crate::{exit, files};
use clap::{ArgAction, Parser, Subcommand, ValueEnum};
pub use format::Format;
pub use hostbuffer::*;
pub use keep::*;
pub use look::*;
pub use mirror::*;
pub use run::*;
pub use view::*;
pub use wait::WaitArgs;

/// Look at running simulations, export their data and write checkpoints of them
#[derive(Debug, Parser)]
#[command(
    name = "tcasm",
    version = files::VERSION,
    after_help = exit::TABLE,
    disable_version_flag = true
)]
pub struct Cli {
    /// Print the version of this program
    #[arg(short = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the regions and groups of this user
    Ls {
        /// List the region of each rank, and not groups
        #[arg(long)]
        ranks: bool,
        #[command(flatten)]
        format: Format,
    },
    /// Describe one region or group: producers, versions, observers, fields, counters
    Info(InfoArgs),
    /// Check what this machine supports, and how to improve it
    Doctor {
        #[command(flatten)]
        format: Format,
    },
    /// Show a field, or write it as a numpy file or as raw bytes
    Dump(DumpArgs),
    /// Show count, extrema, mean, variance and histogram of a field
    #[command(visible_alias = "analyze")]
    Stats(StatsArgs),
    /// Show a region live in a browser, on a page that this command serves
    #[command(after_help = VIEW_HELP)]
    View(ViewArgs),
    /// Show a region live in this terminal
    #[command(after_help = WATCH_HELP)]
    Watch(WatchArgs),
    /// Show a region of another machine here, as a region of this one
    #[command(after_help = MIRROR_HELP)]
    Mirror(MirrorArgs),
    #[command(flatten)]
    Files(files::Command),
    /// Run a program that maps files, and publish what it maps without changing it
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Hold the last versions in memory when a simulation dies, for its next start
    #[command(after_help = KEEP_HELP)]
    Keep(KeepArgs),
    /// Let the hosts of jobs agree on the address of their host buffers
    #[command(after_help = HOSTBUFFER_HELP)]
    Hostbuffer(HostBufferArgs),
    /// Remove the sockets and lock files that dead simulations of this user have left
    Clean {
        /// Only list what would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// Start a small simulation and watch it; takes a few seconds
    Demo(DemoArgs),
    /// Print the completion script for a shell
    Completions {
        /// Name of the shell
        shell: Shell,
    },
    /// Run the simulation of the demo
    #[command(hide = true)]
    DemoProducer {
        /// Name of the region
        name: String,
        /// Steps to compute
        #[arg(long, default_value_t = 300)]
        steps: u64,
        /// Pause after each step, in milliseconds
        #[arg(long, default_value_t = 20)]
        pause: u64,
    },
}

/// The shells that completion scripts exist for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    /// The reference of the command, which users read.
    const PAGE: &str = include_str!("../../../docs/commands.md");

    #[test]
    fn command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    #[cfg_attr(not(feature = "files"), ignore = "the page describes all commands")]
    fn reference_lists_exactly_the_options_of_each_command() {
        for command in Cli::command().get_subcommands() {
            let section = section(command.get_name());
            assert_eq!(section.is_some(), !command.is_hide_set(), "{command}");
            if let Some(section) = section {
                let options = command.get_arguments().filter_map(|arg| arg.get_long());
                let options: BTreeSet<&str> = options.collect();
                assert_eq!(rows(section), options, "{command}");
            }
        }
    }

    #[test]
    fn reference_lists_each_exit_status_and_variable_of_the_help() {
        let listed = |word: &str| {
            PAGE.contains(&format!("\n| {word} |")) || PAGE.contains(&format!("\n| `{word}` |"))
        };
        let words = exit::TABLE
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        for word in words.filter(|word| !word.contains(|c: char| c.is_ascii_lowercase())) {
            assert!(listed(word), "{word}");
        }
    }

    /// Returns the part of the page that describes the command `name`.
    fn section(name: &str) -> Option<&'static str> {
        let heading = format!("tcasm {name}\n");
        let mut parts = PAGE.split("\n## ");
        parts.find_map(|part| part.strip_prefix(heading.as_str()))
    }

    /// Returns the names of the options in the first column of the tables of a section.
    fn rows(section: &str) -> BTreeSet<&str> {
        let rows = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `--"));
        rows.filter_map(|row| row.split(['`', ' ']).next())
            .collect()
    }
}
