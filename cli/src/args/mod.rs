//! The command line: the commands here, their arguments in a file for each group of them.

mod export;
mod keep;
mod look;
mod values;
mod view;

use crate::exit;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
pub use export::ExportArgs;
pub use keep::*;
pub use look::*;
use std::path::PathBuf;
pub use view::*;

/// Look at running simulations, take data out of them, keep checkpoints of them
#[derive(Debug, Parser)]
#[command(name = "tcasm", version, after_help = exit::TABLE, disable_version_flag = true)]
pub struct Cli {
    /// Print the version of this program
    #[arg(short = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    pub command: Command,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the regions that can be seen here
    Ls {
        #[command(flatten)]
        format: Format,
    },
    /// Tell all about one region: producer, versions, observers, fields, counters
    Info(InfoArgs),
    /// Tell what this machine offers, and what to do to get more out of it
    Doctor {
        #[command(flatten)]
        format: Format,
    },
    /// Show a field, or write it out as numpy file or raw bytes
    Dump(DumpArgs),
    /// Count, extrema, mean, variance and histogram of a field
    Stats(StatsArgs),
    /// Look at a region in a browser, live, on a page that this command serves
    #[command(after_help = VIEW_HELP)]
    View(ViewArgs),
    /// Look at a region in this terminal, live
    #[command(after_help = WATCH_HELP)]
    Watch(WatchArgs),
    /// Write one version as a VTKHDF or openPMD file, for ParaView, VisIt, openPMD-api and h5py; or a time series that grows
    #[command(after_help = export::HELP)]
    Export(ExportArgs),
    /// Write checkpoints as the simulation goes, until it ends
    #[command(after_help = CHECKPOINT_HELP)]
    Checkpoint(CheckpointArgs),
    /// Hold the last versions in memory when the simulation dies, for its next start
    #[command(after_help = KEEP_HELP)]
    Keep(KeepArgs),
    /// List the checkpoints in a folder
    Checkpoints(CheckpointsArgs),
    /// Read checkpoints and check every byte
    Verify(VerifyArgs),
    /// Write the newest checkpoint that can be read as one file
    Restore(RestoreArgs),
    /// Watch a small simulation, started for the purpose; takes a few seconds
    Demo {
        /// Keep the checkpoint in this folder, which exists
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Print the script that lets a shell complete this command
    Completions {
        /// The shell
        shell: Shell,
    },
    /// The simulation of the demo
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

/// How the answer is written.
#[derive(Clone, Copy, Debug, Args)]
pub struct Format {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The shells that completions are made for.
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

    #[test]
    fn the_command_line_is_free_of_contradictions() {
        Cli::command().debug_assert();
    }
}
