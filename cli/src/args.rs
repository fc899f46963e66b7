//! The command line.

use crate::exit;
use crate::files::Target;
use crate::storage::Storage;
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
    /// Write one version as a VTKHDF or openPMD file, for ParaView, VisIt, openPMD-api and h5py
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
    /// The file to write: FILE.vtkhdf, or FILE.h5 with openPMD
    pub file: PathBuf,
    /// Number of the version [default: the newest]
    #[arg(long, value_name = "N")]
    pub version: Option<u64>,
    #[command(flatten)]
    pub storage: Storage,
}

#[derive(Debug, Args)]
pub struct KeepArgs {
    /// Name of the region
    pub name: String,
    /// How many of the last versions to hold; more than one are pinned while the simulation runs, and take its memory
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub versions: u32,
}

#[derive(Debug, Args)]
pub struct CheckpointArgs {
    /// Names of the regions; the files are called NAME_STEP.vtkhdf, or NAME_STEP.h5 with openPMD
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// The folder to write to, which exists: on a disk of this node, or in its memory
    #[arg(long, value_name = "DIR")]
    pub fast: PathBuf,
    /// The folder to copy complete checkpoints to, which exists: on a parallel file system
    #[arg(long, value_name = "DIR")]
    pub slow: Option<PathBuf>,
    #[command(flatten)]
    pub when: When,
    /// Write no checkpoint before writing the last one has become at most this share of the time since
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_overhead: Option<f64>,
    /// Write what has changed only, so that it takes at most N files to read a checkpoint (keeps a version pinned)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub increments: u32,
    /// Make full checkpoints of increments in the background (takes memory for all fields)
    #[arg(long, requires = "increments")]
    pub compact: bool,
    #[command(flatten)]
    pub keep: Keep,
    /// Copy at most so many MB (millions of bytes) in a second to the slow folder
    #[arg(long, value_name = "MB", value_parser = positive, requires = "slow")]
    pub limit: Option<f64>,
    /// Wait so long for what is being copied to the slow folder, and for the room that it makes, when the simulation has
    /// ended, if that gets nowhere
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub grace: f64,
    /// The simulation goes on from before what there is: remove what is of later steps when the first new one is complete
    #[arg(long)]
    pub replace_later: bool,
    /// Wait so long for the regions to appear
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = seconds)]
    pub wait: f64,
    #[command(flatten)]
    pub storage: Storage,
}

/// When checkpoints are written, besides the last one at the end, one on SIGUSR1, and one on SIGTERM.
#[derive(Clone, Copy, Debug, Default, Args)]
#[group(required = true, multiple = false)]
pub struct When {
    /// Write every N-th version: those whose number is a multiple of N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every: Option<u64>,
    /// Write a version whenever the simulation has come past a multiple of N steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub every_steps: Option<u64>,
    /// Write a version every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub every_seconds: Option<f64>,
    /// Write a version as often as is best where something fails every so many seconds (the mean time between failures), as
    /// Daly's formula says of the time that writing takes
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    pub mtbf: Option<f64>,
    /// Write the last version only, when the simulation has ended
    #[arg(long)]
    pub last: bool,
}

/// Which checkpoints stay. The newest always does, and what it builds on.
#[derive(Clone, Debug, Args)]
pub struct Keep {
    /// Keep the newest K in the fast folder [default: all]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    pub keep: Option<u64>,
    /// Keep the newest K in the slow folder [default: all]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..), requires = "slow")]
    pub keep_slow: Option<u64>,
    /// Keep all whose step is a multiple of M, in the last folder that they come to
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..))]
    pub keep_every: Option<u64>,
    /// Keep that of this step, too; can be given several times
    #[arg(long, value_name = "STEP")]
    pub keep_step: Vec<u64>,
}

const CHECKPOINT_HELP: &str = "\
Signals:
  SIGUSR1  write the newest version now
  SIGTERM  write the newest version, copy what there is to the slow folder, and end
  SIGINT   end; what is complete stays, and the next start copies it to the slow folder";

const KEEP_HELP: &str = "\
What is held can be had by the next start of the simulation (Producer::restore_kept), or as a file
(tcasm restore --kept NAME --out FILE). It is let go of when that has published its first version,
and when this program ends: by SIGINT or SIGTERM, with status 0.";

#[derive(Debug, Args)]
pub struct CheckpointsArgs {
    /// The folder
    pub dir: PathBuf,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Folders with checkpoints, or single ones
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The folders of a run, the fastest first
    #[arg(required_unless_present = "kept", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Take the last version of this region, which is dead, from the memory of `tcasm keep`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dirs", "step"])]
    pub kept: Option<String>,
    /// The checkpoint of this step [default: the newest that can be read]
    #[arg(long, value_name = "S")]
    pub step: Option<u64>,
    /// The file to write: FILE.vtkhdf, or FILE.h5 with openPMD
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub storage: Storage,
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

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|n| *n > 0.0 && *n <= 1e9)
        .ok_or_else(|| "write a number greater than 0".to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|n| *n > 0.0 && *n <= 100.0)
        .ok_or_else(|| "write a number greater than 0, up to 100".to_owned())
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
    fn intervals_and_shares_are_greater_than_nothing() {
        assert_eq!((positive("0.5"), percent("5")), (Ok(0.5), Ok(5.0)));
        for bad in ["0", "-1", "nan", "inf", "x"] {
            assert!(positive(bad).is_err() && percent(bad).is_err(), "{bad:?}");
        }
        assert!(percent("101").is_err());
    }

    #[test]
    fn a_waiting_time_is_a_number_of_seconds() {
        assert_eq!(seconds("2.5"), Ok(2.5));
        for bad in ["-1", "nan", "1e300", "soon"] {
            assert!(seconds(bad).is_err(), "{bad:?}");
        }
    }
}
