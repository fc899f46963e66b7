//! The format of what commands print.

use clap::Args;

/// The format of the output.
#[derive(Clone, Copy, Debug, Args)]
pub struct Format {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
