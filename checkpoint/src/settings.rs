//! What is to be known before the first checkpoint is written.

use crate::Options;
use crate::error::WriteError;
use crate::tier::Retention;
use std::path::{Path, PathBuf};

/// Where checkpoints go, and what becomes of them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder that they are written to: on a disk of the node, or in its memory.
    pub fast: PathBuf,
    /// What is kept there.
    pub keep: Retention,
    /// The folder that they are copied to, one after the other: on a parallel file system.
    pub slow: Option<PathBuf>,
    /// What is kept there.
    pub keep_slow: Retention,
    /// Most bytes in a second that are copied there.
    pub limit: Option<u64>,
    /// How files are written.
    pub options: Options,
    /// Most files that it takes to read a checkpoint: an increment, and those that it builds on. With 1 all are full.
    pub most_files: usize,
    /// Whether a thread makes full checkpoints of chains, when they have more than half of these files: then the writer seldom
    /// has to, and versions are pinned for increments only.
    pub compact: bool,
    /// Whether a simulation that begins before what is there may replace it: what is of later steps goes when the first new
    /// checkpoint is complete. Else it is refused, as it may be another simulation.
    pub replace_later: bool,
}

impl Settings {
    /// One tier, on which everything is kept.
    pub fn new(fast: impl AsRef<Path>) -> Self {
        Settings {
            fast: fast.as_ref().to_owned(),
            keep: Retention::default(),
            slow: None,
            keep_slow: Retention::default(),
            limit: None,
            options: Options::default(),
            most_files: 1,
            compact: false,
            replace_later: false,
        }
    }

    /// Two tiers are two folders.
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
