//! Arguments of `export`.

use super::values::{positive, seconds};
use super::when::When;
use crate::files::storage::Storage;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Name of the region
    pub name: String,
    /// The file to write: FILE.vtkhdf, or FILE.h5 with --layout openpmd; with --follow also
    /// FILE.vtkhdf.series
    pub file: PathBuf,
    /// Write version number N [default: the newest]
    #[arg(long, value_name = "N")]
    pub version: Option<u64>,
    #[command(flatten)]
    pub follow: Follow,
    #[command(flatten)]
    pub storage: Storage,
}

/// Options of a time series that grows while the simulation runs.
#[derive(Clone, Copy, Debug, Args)]
pub struct Follow {
    /// Append versions to FILE as a time series until the simulation ends. Other programs may read
    /// the file meanwhile. A series that exists is continued
    #[arg(long, conflicts_with_all = ["version", "layout"])]
    pub follow: bool,
    /// Append every N-th version: those whose number is a multiple of N [default: every version
    /// that can still be read]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "follow",
        group = "when_to_append"
    )]
    every: Option<u64>,
    /// Append a version whenever the simulation has passed a multiple of N steps
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "follow",
        group = "when_to_append"
    )]
    every_steps: Option<u64>,
    /// Append a version at intervals of SECONDS
    #[arg(
        long,
        value_name = "SECONDS",
        value_parser = positive,
        requires = "follow",
        group = "when_to_append"
    )]
    every_seconds: Option<f64>,
    /// Keep only the newest K versions [default: all]
    #[arg(
        long,
        value_name = "K",
        value_parser = clap::value_parser!(u64).range(1..),
        requires = "follow"
    )]
    keep: Option<u64>,
    /// The simulation continues from an earlier step than the series: remove the versions of later
    /// steps as soon as the first new version is complete
    #[arg(long, requires = "follow")]
    pub replace_later: bool,
    /// Wait up to SECONDS for the region to appear
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 0.0,
        value_parser = seconds,
        requires = "follow"
    )]
    pub wait: f64,
}

impl Follow {
    /// Returns the rule that selects the versions to append.
    pub fn when(&self) -> When {
        let all = self.every_steps.is_none() && self.every_seconds.is_none();
        When {
            every: self.every.or(all.then_some(1)),
            every_steps: self.every_steps,
            every_seconds: self.every_seconds,
            ..When::default()
        }
    }

    /// Returns the number of versions to keep, `usize::MAX` for all.
    pub fn keep(&self) -> usize {
        self.keep.map_or(usize::MAX, |n| n as usize)
    }
}

pub const HELP: &str = "\
With --follow:
  FILE.vtkhdf         one temporal file for VTK, ParaView (5.12 and later), PyVista and h5py.
                      The values are in the folder FILE.steps beside it: move both together
  FILE.vtkhdf.series  one file per version, and a list of them that ParaView opens as a series
Signals:
  SIGTERM  append the newest version, then exit
  SIGINT   finish the current version, then exit";
