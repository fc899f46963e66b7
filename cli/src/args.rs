//! The command line.

use crate::exit;
use crate::files::Target;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use tcasm_analytics::Selection;

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
    /// Write one version as a VTKHDF file, for ParaView, VisIt and h5py
    Export(ExportArgs),
    /// Write checkpoints as the simulation goes, until it ends
    Checkpoint(CheckpointArgs),
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

#[derive(Debug, Args)]
pub struct InfoArgs {
    /// Name of the region
    pub name: String,
    #[command(flatten)]
    pub format: Format,
    /// Tell again every second until the producer ends (with --json: one line each)
    #[arg(long)]
    pub watch: bool,
}

/// Which field of which version.
#[derive(Debug, Args)]
pub struct FieldArgs {
    /// Name of the region
    pub name: String,
    /// Name of the field
    pub field: String,
    /// Number of the version [default: the newest]
    #[arg(long, value_name = "N")]
    pub version: Option<u64>,
}

#[derive(Debug, Args)]
pub struct DumpArgs {
    #[command(flatten)]
    pub what: FieldArgs,
    /// Write a numpy file (- for standard output)
    #[arg(long, value_name = "FILE", conflicts_with = "raw")]
    pub npy: Option<Target>,
    /// Write the bytes as they lie in memory, ghost layers included (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub raw: Option<Target>,
    /// Take the ghost layers too
    #[arg(long)]
    pub with_ghosts: bool,
}

#[derive(Debug, Args)]
pub struct StatsArgs {
    #[command(flatten)]
    pub what: FieldArgs,
    /// Bins of the histogram
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub bins: usize,
    /// Range of the histogram [default: from the least to the greatest value]
    #[arg(long, value_name = "LO:HI", value_parser = range, allow_hyphen_values = true)]
    pub range: Option<(f64, f64)>,
    /// Take a part only, written as in numpy: '3,:,10:20'. Ghost layers are cut off before
    #[arg(
        long,
        value_name = "SLICE",
        allow_hyphen_values = true,
        default_value_t,
        hide_default_value = true
    )]
    pub slice: Selection,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Name of the region
    pub name: String,
    /// The file to write: FILE.vtkhdf
    pub file: PathBuf,
    /// Number of the version [default: the newest]
    #[arg(long, value_name = "N")]
    pub version: Option<u64>,
    #[command(flatten)]
    pub compress: Compress,
}

#[derive(Debug, Args)]
pub struct CheckpointArgs {
    /// Name of the region; the files are called NAME_STEP.vtkhdf
    pub name: String,
    /// The folder to write to, which exists
    pub dir: PathBuf,
    #[command(flatten)]
    pub when: When,
    /// Wait so long for the region to appear
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = seconds)]
    pub wait: f64,
    #[command(flatten)]
    pub compress: Compress,
}

/// When checkpoints are written, besides the last one at the end.
#[derive(Clone, Copy, Debug, Args)]
#[group(required = true, multiple = false)]
pub struct When {
    /// Write every N-th version: those whose number is a multiple of N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Write a version whenever the simulation has come past a multiple of N steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every_steps: Option<u64>,
    /// Write the last version only, when the simulation has ended
    #[arg(long)]
    pub last: bool,
}

/// How hard files are compressed.
#[derive(Clone, Copy, Debug, Args)]
pub struct Compress {
    /// Level of compression: 0 (none, fastest) to 9
    #[arg(long, value_name = "LEVEL", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=9))]
    pub compress: u8,
}

/// The shells that completions are made for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let parts = text.split_once(':');
    let number = |part: &str| part.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    parts
        .and_then(|(low, high)| Some((number(low)?, number(high)?)))
        .filter(|(low, high)| low <= high)
        .ok_or_else(|| "write two numbers, the smaller first: LO:HI".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok();
    seconds
        .filter(|s| (0.0..=1e9).contains(s))
        .ok_or_else(|| "write a number of seconds, 0 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_free_of_contradictions() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_range_is_two_finite_numbers_in_order() {
        assert_eq!(range("-1.5:2e3"), Ok((-1.5, 2000.0)));
        for bad in ["", "1", "2:1", "nan:1", "0:inf", "a:b"] {
            assert!(range(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_waiting_time_is_a_number_of_seconds() {
        assert_eq!(seconds("2.5"), Ok(2.5));
        for bad in ["-1", "nan", "1e300", "soon"] {
            assert!(seconds(bad).is_err(), "{bad:?}");
        }
    }
}
