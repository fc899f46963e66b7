//! The parts of the command line that several programs have.

use crate::arrays::Capture;
use crate::{Params, ParamsError};
use std::num::NonZeroU64;
use std::path::PathBuf;

/// Which problem to compute, for how long, and how often to show it.
#[derive(clap::Args, Clone, Debug)]
pub struct RunArgs {
    /// Read F, k, Du, Dv, dt, noise and seed from this TOML file [default: the tutorial's values]
    #[arg(long, value_name = "FILE.toml")]
    params: Option<PathBuf>,

    /// Cells along each side of the cube
    #[arg(long, value_name = "N", default_value_t = 96)]
    #[arg(value_parser = clap::value_parser!(u32).range(4..=4096))]
    size: u32,

    /// Number of the last step
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub steps: u64,

    /// Print a line of progress (and publish, where there is somebody to see it) every N steps
    #[arg(
        long,
        visible_alias = "print-every",
        value_name = "N",
        default_value = "100"
    )]
    publish_every: NonZeroU64,
}

impl RunArgs {
    /// The parameters asked for, or the defaults.
    pub fn params(&self) -> Result<Params, ParamsError> {
        self.params
            .as_deref()
            .map_or_else(|| Ok(Params::default()), Params::read)
    }

    /// The grid: `size` cells along z, y and x.
    pub fn shape(&self) -> [usize; 3] {
        [self.size as usize; 3]
    }

    /// Bytes of one field of doubles.
    pub fn bytes(&self) -> usize {
        self.shape().iter().product::<usize>() * size_of::<f64>()
    }

    /// Whether `step` is one to be shown: every so many steps, and the last.
    pub fn is_due(&self, step: u64) -> bool {
        step.is_multiple_of(self.publish_every.get()) || step == self.steps
    }
}

/// Where the region is, and where its content comes from.
#[derive(clap::Args, Clone, Debug)]
pub struct RegionArgs {
    /// Name of the region, by which observers find it
    #[arg(long, default_value = "gray_scott")]
    pub name: String,

    /// Continue from this checkpoint, or from the newest in these folders that can be read
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub restart: Vec<PathBuf>,

    /// How versions come by what was computed
    #[arg(long, value_name = "WAY", default_value = "hand-over")]
    pub capture: Capture,
}

/// The region's name for programs with no other argument: `--name`, else `default`.
pub fn region_name(default: &'static str) -> String {
    let name = clap::Arg::new("name").long("name").default_value(default);
    let name = name.help("Name of the region, by which observers find it");
    let matches = clap::Command::new(default).arg(name).get_matches();
    matches
        .get_one::<String>("name")
        .map_or_else(|| default.to_owned(), String::clone)
}
