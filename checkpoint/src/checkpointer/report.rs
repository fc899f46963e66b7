//! The reports of a checkpointer.

use std::path::PathBuf;
use std::time::Duration;

/// A checkpoint that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The number of these bytes that were written with `O_DIRECT`, past the page cache. (A file
    /// system in memory may accept such writes, too.)
    pub direct: u64,
    /// The time until the file was on the disk.
    pub duration: Duration,
}

/// Counters of what a [`Checkpointer`](crate::Checkpointer) has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of checkpoints that were written.
    pub written: u64,
    /// The number of checkpoints that could not be written.
    pub failed: u64,
    /// The total size of the files that were written, in bytes.
    pub bytes: u64,
    /// The last error, if there was one.
    pub last_error: Option<String>,
}
