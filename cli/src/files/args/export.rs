//! Arguments of `export`.

use super::part::Part;
use super::when::{Interval, When};
use crate::args::WaitArgs;
use crate::files::storage::Storage;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Name of the region, or of a group (not with --follow)
    pub name: String,
    /// The file to write: FILE.vtkhdf, or FILE.h5 for openPMD; with --follow FILE.vtkhdf,
    /// FILE.vtkhdf.series, or FILE_%T.h5 for openPMD
    pub file: PathBuf,
    /// Replace FILE if it exists
    #[arg(long, conflicts_with = "follow")]
    pub force: bool,
    /// Write version number N [default: the newest]
    #[arg(long, value_name = "N")]
    pub version: Option<u64>,
    #[command(flatten)]
    pub part: Part,
    #[command(flatten)]
    pub follow: Follow,
    #[command(flatten)]
    pub storage: Storage,
}

/// Options of a time series that grows while the simulation runs.
#[derive(Clone, Copy, Debug, Args)]
#[command(
    mut_group("Interval", |group| group.requires("follow")),
    mut_group("WaitArgs", |group| group.requires("follow"))
)]
pub struct Follow {
    /// Append versions to FILE as a time series until the simulation ends: every version that can
    /// still be read, or those that one of the next three options selects. Other programs may read
    /// the file meanwhile. A series that exists is continued
    #[arg(long, conflicts_with = "version")]
    pub follow: bool,
    #[command(flatten)]
    interval: Interval,
    /// Miss no version: the simulation keeps those that are not read yet, within its bounds. At a
    /// bound its publish_wait waits, and its publish skips. A version that cannot be written is
    /// tried again until that succeeds, or until SIGTERM or SIGINT
    #[arg(long, requires = "follow")]
    pub lossless: bool,
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
    #[command(flatten)]
    pub wait: WaitArgs,
}

impl Follow {
    /// Returns the rule that selects the versions to append: all of them, unless an option says
    /// otherwise.
    pub fn when(&self) -> When {
        let mut interval = self.interval;
        if interval == Interval::default() {
            interval.every = Some(1);
        }
        interval.into()
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
  FILE_%T.h5          one file per version, FILE_00000100.h5 for step 100, which openPMD-api opens
                      together as Series(\"FILE_%T.h5\")
Signals:
  SIGTERM  append the newest version, then exit
  SIGINT   finish the current version, then exit";
