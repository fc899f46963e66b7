//! The settings of the checkpoints of a job.

use super::scheme::Redundancy;
use crate::options::{Compression, Options};
use std::path::PathBuf;

/// The settings of the checkpoints of a job. All but `local` must be the same on all nodes.
#[derive(Clone, Debug)]
pub struct JobSettings {
    /// The name of the group.
    pub group: String,
    /// The folder of this node, on a disk of its own or in its memory. Nodes that share a folder
    /// have files of their own in it.
    pub local: PathBuf,
    /// The folder of the slow tier, which all nodes share. It has the manifest.
    pub slow: PathBuf,
    /// How the files are written. Not compressed by default: the parity would have to wait.
    pub options: Options,
    /// The redundancy between nodes.
    pub redundancy: Redundancy,
    /// The number of nodes that protect each other. 8 by default.
    pub set_size: usize,
    /// How many checkpoints the nodes keep: 2 by default.
    pub keep: usize,
    /// How many checkpoints the slow tier keeps: 2 by default.
    pub keep_slow: usize,
    /// Each checkpoint of this number is copied to the slow tier: 10 by default, never for 0. It is
    /// a full one, unless this is 1.
    pub drain_every: usize,
    /// The largest number of files that the checkpoint of a node is read from: a full one and
    /// increments. 16 by default.
    pub most_files: usize,
}

impl JobSettings {
    /// Returns the default settings for the checkpoints of `group`.
    pub fn new(group: &str, local: impl Into<PathBuf>, slow: impl Into<PathBuf>) -> JobSettings {
        JobSettings {
            group: group.to_owned(),
            local: local.into(),
            slow: slow.into(),
            options: Options {
                compression: Compression::None,
                ..Options::default()
            },
            redundancy: Redundancy::default(),
            set_size: 8,
            keep: 2,
            keep_slow: 2,
            drain_every: 10,
            most_files: 16,
        }
    }
}
