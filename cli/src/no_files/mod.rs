//! Stands in the place of `files` where the feature `files` is off. The commands exist, but they
//! only say what they need.

pub mod demo;

use crate::failure::{Code, Failure};
use clap::Subcommand;
use std::ffi::OsString;

/// The version of the program, as `--version` prints it.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (without HDF5)");

/// One command for all that are missing: their names are its aliases.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Not in this program, which was built without HDF5
    #[command(
        name = "checkpoint",
        visible_aliases = ["checkpoints", "export", "restore", "verify"],
        disable_help_flag = true
    )]
    Missing {
        /// Arguments that the command takes where it exists
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// Says what the commands need.
pub fn run(_: Command) -> Result<(), Failure> {
    let text = "checkpoint, checkpoints, export, restore and verify need HDF5, and this program \
                was built without it; install tcasm with its default features";
    Err(Failure::new(Code::Usage, text))
}
