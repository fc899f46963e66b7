//! Arguments of the commands for checkpoints: `checkpoint`, `checkpoints`, `verify` and `restore`.

use super::part::Fields;
use super::values::{percent, positive, relative_error};
use super::when::When;
use crate::args::values::seconds;
use crate::args::{Format, WaitArgs};
use crate::files::storage::Storage;
use clap::Args;
use std::path::PathBuf;
use tcasm_checkpoint::Mode;

#[derive(Debug, Args)]
pub struct CheckpointArgs {
    /// Names of the regions. The files are named NAME_STEP.vtkhdf, or NAME_STEP.h5 with --layout
    /// openpmd
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Write checkpoints to this folder, on a disk of this node or in its memory. It must exist
    #[arg(long, value_name = "DIR")]
    pub fast: PathBuf,
    /// Copy complete checkpoints to this folder, on a parallel file system. It must exist
    #[arg(long, value_name = "DIR")]
    pub slow: Option<PathBuf>,
    #[command(flatten)]
    pub when: When,
    #[command(flatten)]
    pub fields: Fields,
    /// Write lossy checkpoints: floats are rounded, so that they compress better, and none changes
    /// by more than BOUND of itself. A restart from them is refused unless it is asked for
    #[arg(long, value_name = "BOUND", value_parser = relative_error)]
    pub lossy_relative_error: Option<f64>,
    /// Spend at most this share of the time on writing: delay a checkpoint until the time that the
    /// last one took is no more than PERCENT of the time since it began
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub max_overhead: Option<f64>,
    /// Write increments: only what changed since the last checkpoint. Reading a checkpoint takes at
    /// most N files. With N above 1, one version stays pinned
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    pub increments: u32,
    /// Turn increments into full checkpoints in the background (needs memory for all fields)
    #[arg(long, requires = "increments")]
    pub compact: bool,
    #[command(flatten)]
    pub keep: Keep,
    /// Copy at most this many MiB per second to the slow folder
    #[arg(long, value_name = "MIB", value_parser = positive, requires = "slow")]
    pub limit: Option<f64>,
    /// After the simulation has ended, finish copying to the slow folder, and wait for the room
    /// that this makes in the fast one. Give up after SECONDS without progress
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    pub grace: f64,
    /// The simulation continues from an earlier step than the newest checkpoint: remove the
    /// checkpoints of later steps as soon as the first new one is complete
    #[arg(long)]
    pub replace_later: bool,
    #[command(flatten)]
    pub wait: WaitArgs,
    /// Permissions of the files, in octal as for chmod, such as 0640; the umask is then ignored
    /// [default: 0600 less the umask]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,
    #[command(flatten)]
    pub storage: Storage,
}

/// Which checkpoints are kept. The newest is always kept, with the files that it builds on.
#[derive(Clone, Debug, Args)]
pub struct Keep {
    /// Keep the newest K in the fast folder [default: all]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    pub keep: Option<u64>,
    /// Keep the newest K in the slow folder [default: all]
    #[arg(
        long,
        value_name = "K",
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "slow"
    )]
    pub keep_slow: Option<u64>,
    /// Keep all whose step is a multiple of M: in the slow folder, or in the fast one if there is
    /// no slow one
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..))]
    pub keep_every: Option<u64>,
    /// Keep the checkpoint of this step, too; can be given several times
    #[arg(long, value_name = "STEP")]
    pub keep_step: Vec<u64>,
}

#[derive(Debug, Args)]
pub struct CheckpointsArgs {
    /// The folder to list, or NAME.vtkhdf.series or NAME_%T.h5 in it
    pub dir: PathBuf,
    /// List only the checkpoints of this region [default: of all regions]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    #[command(flatten)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Folders of checkpoints, NAME.vtkhdf.series or NAME_%T.h5 in them, or single checkpoint files
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// In folders, check only the checkpoints of this region [default: of all regions]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// The folders of a run, the fastest one first; or NAME.vtkhdf.series or NAME_%T.h5 in them
    #[arg(required_unless_present = "kept", value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Take the last version of this region, whose producer is dead, from the memory that `tcasm
    /// keep` holds
    #[arg(long, value_name = "NAME", conflicts_with_all = ["dirs", "step"])]
    pub kept: Option<String>,
    /// Restore a checkpoint of this region; needed if the folders hold checkpoints of several
    #[arg(long, value_name = "NAME", conflicts_with = "kept")]
    pub name: Option<String>,
    /// Restore the checkpoint of this step [default: the newest that can be read]
    #[arg(long, value_name = "S")]
    pub step: Option<u64>,
    /// Accept a checkpoint with rounded values. The new file has the same values, and says so
    #[arg(long, conflicts_with = "kept")]
    pub allow_lossy: bool,
    /// The file to write: FILE.vtkhdf, or FILE.h5 for openPMD
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Replace FILE if it exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub storage: Storage,
}

pub const CHECKPOINT_HELP: &str = "\
Signals:
  SIGUSR1  write the newest version now, or the first as soon as there is one
  SIGTERM  write the newest version, finish copying to the slow folder, then exit
  SIGINT   finish the current file, then exit; the next start copies complete checkpoints to the
           slow folder";
