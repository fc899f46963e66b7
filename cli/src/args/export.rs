//! `export`.

use super::When;
use super::values::{positive, seconds};
use crate::storage::Storage;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Name of the region
    pub name: String,
    /// The file to write: FILE.vtkhdf, or FILE.h5 with openPMD; with --follow also FILE.vtkhdf.series
    pub file: PathBuf,
    /// Number of the version [default: the newest]
    #[arg(long, value_name = "N")]
    pub version: Option<u64>,
    #[command(flatten)]
    pub follow: Follow,
    #[command(flatten)]
    pub storage: Storage,
}

/// How a time series grows.
#[derive(Clone, Copy, Debug, Args)]
pub struct Follow {
    /// Append versions to FILE as the simulation goes, until it ends: a time series, which others may read meanwhile. What a
    /// run before has written is gone on with
    #[arg(long, conflicts_with_all = ["version", "layout"])]
    pub follow: bool,
    /// Append every N-th version: those whose number is a multiple of N [default: all that can be had]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "follow", group = "when_to_append")]
    every: Option<u64>,
    /// Append a version whenever the simulation has come past a multiple of N steps
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "follow", group = "when_to_append")]
    every_steps: Option<u64>,
    /// Append a version every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = positive, requires = "follow", group = "when_to_append")]
    every_seconds: Option<f64>,
    /// Keep the newest K versions [default: all]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..), requires = "follow")]
    keep: Option<u64>,
    /// The simulation goes on from before what there is: remove what is of later steps when the first new version is complete
    #[arg(long, requires = "follow")]
    pub replace_later: bool,
    /// Wait so long for the region to appear
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = seconds, requires = "follow")]
    pub wait: f64,
}

impl Follow {
    /// Which versions are appended.
    pub fn when(&self) -> When {
        let all = self.every_steps.is_none() && self.every_seconds.is_none();
        When {
            every: self.every.or(all.then_some(1)),
            every_steps: self.every_steps,
            every_seconds: self.every_seconds,
            ..When::default()
        }
    }

    /// How many versions are kept.
    pub fn keep(&self) -> usize {
        self.keep.map_or(usize::MAX, |n| n as usize)
    }
}

pub const HELP: &str = "\
With --follow:
  FILE.vtkhdf         one temporal file for VTK, ParaView (5.12 and later), PyVista and h5py; its arrays are virtual: they
                      stand in the folder FILE.steps beside it, and both are moved together
  FILE.vtkhdf.series  a file for each version, and the list of them that ParaView opens as a series
Signals:
  SIGTERM  append the newest version, and end
  SIGINT   end";
