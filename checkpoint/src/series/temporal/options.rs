//! The options of time series.

use crate::file::Mode;
use crate::options::{Compression, DirectIo, Options};
use std::time::Duration;

/// The options of a time series.
#[derive(Clone, Debug)]
pub struct SeriesOptions {
    /// How the bytes of fields are compressed.
    pub compression: Compression,
    /// The number of newest versions to keep.
    pub keep: usize,
    /// How long files of rows are kept after the series no longer refers to them, for readers that
    /// have opened an older file of the series. They are kept until the next version at least. All
    /// such files are removed when the writer is closed.
    pub grace: Duration,
    /// The number of versions that are put together into a chapter: a file of references, to which
    /// the file of the series refers as a whole. Thus a long series lists only few versions one by
    /// one.
    pub chapter: usize,
    /// True if a simulation that goes back to an earlier step may replace the versions of that step
    /// and of later ones. Otherwise such a step is an error.
    pub replace_later: bool,
    /// The permission bits of the files.
    pub mode: Mode,
    /// The way to write large fields: past the page cache, or through it.
    pub direct: DirectIo,
}

impl Default for SeriesOptions {
    fn default() -> Self {
        SeriesOptions {
            compression: Options::default().compression,
            keep: usize::MAX,
            grace: Duration::from_secs(10),
            chapter: 256,
            replace_later: false,
            mode: Mode::default(),
            direct: DirectIo::default(),
        }
    }
}
