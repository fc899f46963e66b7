//! How checkpoints are written.

use crate::file::Mode;

/// The format in which other programs read a full checkpoint. This crate reads both in the same
/// way, from `/tcasm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// A VTKHDF image, for ParaView and VisIt: `<name>_<step>.vtkhdf`, where `<name>` is the name
    /// of the run's checkpoints.
    #[default]
    VtkHdf,
    /// An iteration of an openPMD 1.1.0 series, for openPMD-api and programs that use it:
    /// `<name>_<step>.h5`.
    OpenPmd,
}

/// How the fields' bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No compression. The fastest to write.
    None,
    /// Shuffle and deflate at a level of 1 to 9; other levels are raised or lowered to these. Every
    /// HDF5 reader has these filters.
    Deflate(u8),
    /// Shuffle and zstd at a level of 1 to 9, by the filter Blosc. Other readers need
    /// the plugin of Blosc (in Python: `hdf5plugin`).
    Zstd(u8),
}

/// The options of checkpoint files.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the fields' bytes are stored.
    pub compression: Compression,
    /// The format in which other programs read full checkpoints.
    pub layout: Layout,
    /// The permissions of the files. By default only the owner may read and write them.
    pub mode: Mode,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            compression: Compression::Deflate(1),
            layout: Layout::default(),
            mode: Mode::default(),
        }
    }
}
