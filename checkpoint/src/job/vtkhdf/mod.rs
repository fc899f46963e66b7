//! The file of a checkpoint for ParaView: a small VTKHDF file whose arrays are virtual datasets
//! over the files of the nodes, which lie in the same folder.
//!
//! ```text
//! one data set                  /VTKHDF is this data set
//! several                       /VTKHDF is a PartitionedDataSetCollection of them
//!
//! global arrays on one grid     an ImageData of all of it, "grid"
//! the uniform grids of a rank   an ImageData each, "rank_<rank>" and "rank_<rank>_<mesh>"
//! an unstructured mesh, or      an UnstructuredGrid or a PolyData, "<mesh>", with a part for each
//! particles                     rank that has a mesh of this name
//!
//! /counted/<step>, /types/<type>    the arrays that are the same in all ranks, as long as the
//!                                   longest one: see `shared`
//! ```
//!
//! A field that is part of the image of all is in no other data set. As in checkpoints of single
//! regions, grids with coordinates and meshes with defects are not shown.
//!
//! VTK reads NaN where a file is missing, without any error. So this file is renamed into place
//! only after the checkpoint is complete in the folder.

mod arrays;
mod data_sets;
mod images;
mod meshes;
mod shared;
mod sources;

use super::error::JobError;
use super::names;
use super::record::Commit;
use crate::file::{Fault, Mode, atomic};
use crate::write::layouts::vtkhdf::ordered;
use crate::write::new_file;
use data_sets::DataSet;
use std::path::Path;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::testing::fault;

/// Writes the file of a checkpoint whose files are all in `dir`. Returns false if it has
/// increments, or nothing that ParaView could show: then there is no such file.
pub fn write(dir: &Path, group: &str, of: &Commit, mode: Mode) -> Result<bool, JobError> {
    if of.parts.iter().any(|part| part.base.is_some()) {
        return Ok(false);
    }
    let sources = sources::read(dir, of)?;
    let whole = images::whole_table(&sources);
    let sets = data_sets::of(&sources, &whole);
    if sets.is_empty() {
        return Ok(false);
    }
    let stamp = Stamp {
        step: of.step,
        time: of.time,
        ..sources.first().map(|s| s.rank.stamp).unwrap_or_default()
    };
    let path = dir.join(names::vtkhdf(group, of.step));
    atomic::write(&path, mode, |pending| {
        let file = new_file::create(pending.file())?;
        fill(&file, &sets, stamp)?;
        file.flush()?;
        file.close()?;
        fault::pass("job-showing");
        Ok::<(), Fault>(())
    })?;
    Ok(true)
}

/// Writes the data sets.
fn fill(file: &hdf5::File, sets: &[DataSet<'_>], stamp: Stamp) -> Result<(), Fault> {
    let shared = shared::write(file, sets.iter().flat_map(DataSet::counted))?;
    let root = ordered(file, "VTKHDF")?;
    for (set, group) in sets.iter().zip(data_sets::groups(root, sets)?) {
        set.write(&group, stamp, &shared)?;
    }
    Ok(())
}
