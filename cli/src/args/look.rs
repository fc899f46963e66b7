//! Arguments of the commands that look at versions: `info`, `dump`, `stats`.

use super::component::Component;
use super::format::Format;
use super::values::range;
use super::wait::WaitArgs;
use crate::target::Target;
use clap::Args;
use tcasm_analytics::Selection;

#[derive(Debug, Args)]
#[command(mut_group("WaitArgs", |group| group.requires("watch")))]
pub struct InfoArgs {
    /// Name of the region or group
    pub name: String,
    #[command(flatten)]
    pub format: Format,
    /// Print again every second until the producer ends (with --json: one line each time)
    #[arg(long)]
    pub watch: bool,
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// The arguments that select a field of a version.
#[derive(Debug, Args)]
pub struct FieldArgs {
    /// Name of the region or group
    pub name: String,
    /// Name of the field
    pub field: String,
    /// Read version number N [default: the newest]
    #[arg(long, value_name = "N")]
    pub version: Option<u64>,
}

#[derive(Debug, Args)]
pub struct DumpArgs {
    #[command(flatten)]
    pub what: FieldArgs,
    /// Write the field as a numpy file (- for standard output)
    #[arg(long, value_name = "FILE", conflicts_with = "raw")]
    pub npy: Option<Target>,
    /// Write the bytes as they are in memory, with ghost layers (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub raw: Option<Target>,
    /// Replace FILE if it exists
    #[arg(long)]
    pub force: bool,
    /// Include the ghost layers
    #[arg(long)]
    pub with_ghosts: bool,
    /// Take only a part of the field, written as in numpy: '3,:,10:20'. Indices count ghost layers
    /// only with --with-ghosts. For a vector, one more item chooses components: ':,:,:,0'
    #[arg(
        long,
        value_name = "SLICE",
        allow_hyphen_values = true,
        default_value_t,
        hide_default_value = true,
        conflicts_with = "raw"
    )]
    pub slice: Selection,
}

#[derive(Debug, Args)]
pub struct StatsArgs {
    #[command(flatten)]
    pub what: FieldArgs,
    /// Number of bins of the histogram
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub bins: usize,
    /// Range of the histogram [default: from the smallest to the largest value]
    #[arg(long, value_name = "LO:HI", value_parser = range, allow_hyphen_values = true)]
    pub range: Option<(f64, f64)>,
    /// Use only a part of the field, written as in numpy: '3,:,10:20'. Indices do not count ghost
    /// layers. For a vector, one more item chooses components: ':,:,:,0'
    #[arg(
        long,
        value_name = "SLICE",
        allow_hyphen_values = true,
        default_value_t,
        hide_default_value = true
    )]
    pub slice: Selection,
    /// Describe only one component of a vector: its number, x, y or z, or magnitude for the length
    /// of the vector [default: all components and the magnitude]
    #[arg(long, value_name = "C")]
    pub component: Option<Component>,
    #[command(flatten)]
    pub format: Format,
}
