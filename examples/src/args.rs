//! Command-line arguments that several programs share.

use crate::arrays::Capture;
use crate::params::{Params, ParamsError};
use std::num::NonZeroU64;
use std::path::PathBuf;

/// The arguments that select the problem, the number of steps, and how often to show them.
#[derive(clap::Args, Clone, Debug)]
pub struct RunArgs {
    /// Read F, k, Du, Dv, dt, noise and seed from this TOML file [default: built-in values]
    #[arg(long, value_name = "FILE.toml")]
    params: Option<PathBuf>,

    /// Cells along each side of the cube
    #[arg(long, value_name = "N", default_value_t = 96)]
    #[arg(value_parser = clap::value_parser!(u32).range(4..=4096))]
    size: u32,

    /// Number of the last step
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub steps: u64,

    /// Print a line of progress every N steps; in a region, also publish a version
    #[arg(
        long,
        visible_alias = "print-every",
        value_name = "N",
        default_value = "100"
    )]
    publish_every: NonZeroU64,
}

impl RunArgs {
    /// Returns the parameters of the file, or the defaults if none was given.
    pub fn params(&self) -> Result<Params, ParamsError> {
        self.params
            .as_deref()
            .map_or_else(|| Ok(Params::default()), Params::read)
    }

    /// Returns the shape of the grid: `size` cells along z, y and x.
    pub fn shape(&self) -> [usize; 3] {
        [self.size as usize; 3]
    }

    /// Returns the size in bytes of one field of doubles.
    pub fn bytes(&self) -> usize {
        self.shape().iter().product::<usize>() * size_of::<f64>()
    }

    /// Returns true if `step` is to be shown: every `publish_every` steps, and the last step.
    pub fn is_due(&self, step: u64) -> bool {
        step.is_multiple_of(self.publish_every.get()) || step == self.steps
    }
}

/// The arguments of programs on meshes of their own: the number of steps, and what is done with the
/// results.
#[derive(clap::Args, Clone, Debug)]
pub struct StepArgs {
    /// Number of the last step
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub steps: u64,

    /// Show every Nth step, and the last: print a line of progress, write it to the file of --dump;
    /// in a region, also publish a version
    #[arg(long, value_name = "N", default_value = "20")]
    every: NonZeroU64,

    /// Write the results to this file too, as plain numbers of eight bytes
    #[arg(long, value_name = "FILE")]
    pub dump: Option<PathBuf>,
}

impl StepArgs {
    /// Returns true if `step` is to be shown: every `every` steps, and the last step.
    pub fn is_due(&self, step: u64) -> bool {
        step.is_multiple_of(self.every.get()) || step == self.steps
    }
}

/// The arguments of a program that computes in a region.
#[derive(clap::Args, Clone, Debug)]
pub struct RegionArgs {
    /// Name of the region; observers attach by this name
    #[arg(long, default_value = "gray_scott")]
    pub name: String,

    /// Continue from this checkpoint, or from the newest readable one in these folders
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub restart: Vec<PathBuf>,

    /// How the computed arrays become part of a version
    #[arg(long, value_name = "MODE", default_value = "hand-over")]
    pub capture: Capture,
}

/// Parses the command line of a program whose only argument is the name of the region. Returns
/// `--name`, or `default`.
pub fn region_name(default: &'static str) -> String {
    let name = clap::Arg::new("name").long("name").default_value(default);
    let name = name.help("Name of the region; observers attach by this name");
    let matches = clap::Command::new(default).arg(name).get_matches();
    matches
        .get_one::<String>("name")
        .map_or_else(|| default.to_owned(), String::clone)
}
