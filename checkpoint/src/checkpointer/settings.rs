//! The settings of a checkpointer.

use crate::error::WriteError;
use crate::options::{Options, Purpose};
use crate::tier::Retention;
use std::path::{Path, PathBuf};

/// Where checkpoints are written, and which of them are kept.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder that checkpoints are written to, on a disk of the node or in its memory.
    pub fast: PathBuf,
    /// The checkpoints that are kept in `fast`.
    pub keep: Retention,
    /// The folder that checkpoints are copied to one after the other, on a parallel file system.
    pub slow: Option<PathBuf>,
    /// The checkpoints that are kept in `slow`.
    pub keep_slow: Retention,
    /// The highest rate of copying, in bytes per second.
    pub limit: Option<u64>,
    /// How files are written.
    pub options: Options,
    /// The purpose of full files. Those that replace increments ([`Settings::compact`]) are always
    /// for restarts.
    pub purpose: Purpose,
    /// The largest number of files that a checkpoint is read from: an increment and all that it
    /// builds on. With 1, all checkpoints are full.
    pub most_files: usize,
    /// True if a thread replaces the newest increment of a chain by a full checkpoint when the
    /// chain has more than half of `most_files`. Then the writer seldom has to write full
    /// checkpoints, and versions are pinned only while increments are written.
    pub compact: bool,
    /// True if a simulation that starts at an earlier step may replace checkpoints of later steps.
    /// They are removed when the first new checkpoint is complete. Otherwise such a start is
    /// refused, as it may be another simulation.
    pub replace_later: bool,
}

impl Settings {
    /// Returns settings with one tier, which keeps everything.
    pub fn new(fast: impl AsRef<Path>) -> Self {
        Settings {
            fast: fast.as_ref().to_owned(),
            keep: Retention::default(),
            slow: None,
            keep_slow: Retention::default(),
            limit: None,
            options: Options::default(),
            purpose: Purpose::default(),
            most_files: 1,
            compact: false,
            replace_later: false,
        }
    }

    /// Checks that the tiers are different folders.
    pub(crate) fn check_folders(&self) -> Result<(), WriteError> {
        let Some(slow) = &self.slow else {
            return Ok(());
        };
        let real = |dir: &Path| dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        match real(&self.fast) == real(slow) {
            true => Err(WriteError::SameFolder(self.fast.clone(), slow.clone())),
            false => Ok(()),
        }
    }
}
