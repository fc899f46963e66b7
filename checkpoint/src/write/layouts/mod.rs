//! The layouts in which other programs read full checkpoints. Each one implements [`FileLayout`].
//! Only the table here knows them by name.

pub mod grid;
mod openpmd;
pub mod vtkhdf;

pub use openpmd::left_out as left_out_of_openpmd;

use super::store::FileLayout;
use crate::file::Fault;
use crate::options::Layout;
use crate::snapshot::Snapshot;
use hdf5::File;
use std::path::Path;

/// Creates the part of `file` for other programs, still without fields. `path` is the final path of
/// the file.
pub fn create(
    layout: Layout,
    file: &File,
    path: &Path,
    snapshot: &Snapshot<'_>,
) -> Result<Box<dyn FileLayout>, Fault> {
    Ok(match layout {
        Layout::VtkHdf => Box::new(vtkhdf::Image::create(file, snapshot)?),
        Layout::OpenPmd => Box::new(openpmd::Iteration::create(file, path, snapshot)?),
    })
}
