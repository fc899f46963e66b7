//! The layouts in which other programs read full checkpoints. Each one implements [`FileLayout`].
//! Only the table here knows them by name.

pub mod grid;
mod openpmd;
pub mod vtkhdf;

use super::store::FileLayout;
use crate::file::Fault;
use crate::options::{Layout, Purpose};
use crate::snapshot::Snapshot;
use hdf5::File;
use std::path::Path;
use tcasm_core::field::FieldTable;

/// Creates the part of `file` for other programs, still without fields. `path` is the final path of
/// the file.
pub fn create<'s>(
    (layout, purpose): (Layout, Purpose),
    file: &File,
    path: &Path,
    snapshot: &'s Snapshot<'_>,
) -> Result<Box<dyn FileLayout + 's>, Fault> {
    match layout {
        Layout::VtkHdf => vtkhdf::create(file, snapshot, purpose),
        Layout::OpenPmd => Ok(Box::new(openpmd::Iteration::create(file, path, snapshot)?)),
    }
}

impl Layout {
    /// Returns the names of the fields of `table` for which openPMD lacks a place, and the reasons.
    /// An openPMD file has them under `/tcasm`. Returns none for VTKHDF.
    pub fn left_out(self, table: &FieldTable) -> Vec<(String, &'static str)> {
        match self {
            Layout::OpenPmd => openpmd::left_out(table),
            Layout::VtkHdf => Vec::new(),
        }
    }
}
