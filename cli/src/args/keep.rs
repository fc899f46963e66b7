//! What is kept of simulations: `checkpoint`, `keep`, and what is done with that.

use super::Format;
use super::values::{percent, positive, seconds};
use crate::storage::Storage;
use clap::Args;
use std::path::PathBuf;
use tcasm_checkpoint::Mode;

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
    /// Permissions of the files, in octal as for chmod, such as 0640; the umask does not matter
    /// then [default: 0600 less the umask]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,
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

pub const CHECKPOINT_HELP: &str = "\
Signals:
  SIGUSR1  write the newest version now
  SIGTERM  write the newest version, copy what there is to the slow folder, and end
  SIGINT   end; what is complete stays, and the next start copies it to the slow folder";

pub const KEEP_HELP: &str = "\
What is held can be had by the next start of the simulation (Producer::restore_kept), or as a file
(tcasm restore --kept NAME --out FILE). It is let go of when that has published its first version,
and when this program ends: by SIGINT or SIGTERM, with status 0.";
