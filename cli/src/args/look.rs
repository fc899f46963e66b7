//! What is told of versions: `info`, `dump`, `stats`.

use super::Format;
use super::values::range;
use crate::files::Target;
use clap::Args;
use tcasm_analytics::Selection;

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
