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

/// The purpose of full VTKHDF files. It decides which meshes other programs find in them. The
/// fields under `/tcasm`, from which this crate restores, are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// A restart. Every version can be stored, and little is stored besides its fields. So files do
    /// not show meshes whose cells VTK cannot have, nor rectilinear and curvilinear meshes: their
    /// points and cells would take several times as many bytes as a field.
    #[default]
    Restart,
    /// Other programs. Files have all that VTK needs to show the meshes that fields are on. A
    /// version whose cells VTK cannot have is an error.
    Export,
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

/// The way to write large fields that are not compressed: past the page cache (`O_DIRECT`), or
/// through it. The files are the same in both cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DirectIo {
    /// Where the file system takes such writes. The device reads the fields from where they lie. So
    /// no copy of them uses memory bandwidth, but the snapshot is needed until the device has them.
    #[default]
    Auto,
    /// Never. The fields are copied into the page cache.
    Off,
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
    /// The way to write large fields: past the page cache, or through it.
    pub direct: DirectIo,
}

impl Options {
    /// Returns true if large fields are to be written past the page cache. Compressed ones are not,
    /// because HDF5 writes them.
    pub(crate) fn writes_direct(&self) -> bool {
        self.direct == DirectIo::Auto && self.compression == Compression::None
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            compression: Compression::Deflate(1),
            layout: Layout::default(),
            mode: Mode::default(),
            direct: DirectIo::default(),
        }
    }
}
