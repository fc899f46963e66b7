//! How checkpoints are written.

use crate::Mode;

/// What a full checkpoint is to other programs. For us both are the same: all is read from `/tcasm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// A VTKHDF image, for ParaView and VisIt: `<name>_<step>.vtkhdf`.
    #[default]
    VtkHdf,
    /// An iteration of an openPMD 1.1.0 series, for openPMD-api and what builds on it: `<name>_<step>.h5`.
    OpenPmd,
}

/// How the fields' bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As they are: the fastest to write.
    None,
    /// Shuffled and deflated at a level of 1 to 9: every HDF5 reader has these filters.
    Deflate(u8),
    /// Shuffled and compressed with zstd at a level of 1 to 9, by the filter Blosc, which other readers need as a
    /// plugin (in Python: `hdf5plugin`).
    Zstd(u8),
}

/// How to write.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the fields' bytes are stored.
    pub compression: Compression,
    /// What full checkpoints are to other programs.
    pub layout: Layout,
    /// Who may read and write the files.
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
