//! The commands that read or write files of versions: checkpoints, exports and time series.
//!
//! They need HDF5, so they are a feature, `files`. Without it, the module in `no_files` has this
//! name. The rest of the program uses only what both modules offer.

mod args;
mod checkpoint;
mod checkpoints;
mod cut;
pub mod demo;
mod end;
mod export;
mod failure;
mod file_name;
mod follow;
mod held;
mod job;
mod places;
mod planned;
mod restore;
mod schedule;
mod storage;
mod stored;
mod verify;

use crate::failure::Failure;
use args::{
    CHECKPOINT_HELP, CheckpointArgs, CheckpointsArgs, EXPORT_HELP, ExportArgs, RestoreArgs,
    VerifyArgs,
};
use clap::Subcommand;

/// The version of the program, as `--version` prints it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write one version, or a growing time series, as VTKHDF or openPMD for ParaView, VisIt,
    /// openPMD-api and h5py
    #[command(after_help = EXPORT_HELP)]
    Export(ExportArgs),
    /// Write checkpoints of running simulations until they end
    #[command(after_help = CHECKPOINT_HELP)]
    Checkpoint(CheckpointArgs),
    /// List the checkpoints in a folder
    Checkpoints(CheckpointsArgs),
    /// Read checkpoints and check every byte
    Verify(VerifyArgs),
    /// Write the newest readable checkpoint as one file
    Restore(RestoreArgs),
}

/// Runs a command.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Export(args) => export::run(&args),
        Command::Checkpoint(args) => checkpoint::run(&args),
        Command::Checkpoints(args) => checkpoints::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Restore(args) => restore::run(&args),
    }
}
