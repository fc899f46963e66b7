//! Checks that a checkpoint's HDF5 file stores all its values itself, and has only hard links. The
//! exception is the assembly of a VTKHDF collection, which consists of soft links: those lead to
//! objects of the same file. Time series have virtual datasets, and are not checked here.
//!
//! A seal is not a signature: anybody can make a file with one. HDF5 follows external links,
//! external storage and virtual datasets to any files that they name. It also allows datasets of
//! any size whose values were never stored. Files that this crate writes have none of these. So a
//! file that has one is refused before anything in it is read.

use crate::file::memory;
use hdf5::dataset::Layout;
use hdf5::{Dataset, File, Group, H5Type, LinkType, LocationType};
use std::collections::HashSet;

/// The group in which VTKHDF needs soft links.
const ASSEMBLY: &str = "/VTKHDF/Assembly";

/// The largest size of a description (field tables and names) in bytes. A table of 100,000 fields
/// is smaller.
pub const MOST_DESCRIPTION: u64 = 64 << 20;

/// Checks all objects that can be reached from the root of `file`.
pub fn check(file: &File) -> hdf5::Result<()> {
    let mut seen = HashSet::new();
    let mut groups = vec![file.as_group()?];
    while let Some(group) = groups.pop() {
        for name in hard_links(&group)? {
            let found = group.loc_info_by_name(&name)?;
            if !seen.insert(format!("{:?}", found.token)) {
                continue;
            }
            match found.loc_type {
                LocationType::Group => groups.push(group.group(&name)?),
                LocationType::Dataset => check_dataset(&group.dataset(&name)?)
                    .map_err(|why| format!("{}/{name}: {why}", group.name()))?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Returns the names of the hard links in `group`. It must have no others, except in the assembly.
fn hard_links(group: &Group) -> hdf5::Result<Vec<String>> {
    let mut names = Vec::new();
    let path = group.name();
    let is_assembly = path
        .strip_prefix(ASSEMBLY)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    group.iter_visit_default(|name, link| match link.link_type {
        LinkType::Hard => {
            names.push(name.to_owned());
            Ok(())
        }
        LinkType::Soft if is_assembly => Ok(()),
        other => Err(format!("{}/{name} is a link ({other:?})", group.name()).into()),
    })?;
    Ok(names)
}

/// Checks that all values of `dataset` are stored, and that they are in this file.
fn check_dataset(dataset: &Dataset) -> hdf5::Result<()> {
    let properties = dataset.dcpl()?;
    let layout = properties.get_layout()?;
    if !properties.get_external()?.is_empty() {
        return Err("its values are in another file".into());
    }
    let shape = dataset.shape();
    let size = dataset.dtype()?.size() as u64;
    let values = product(&shape).and_then(|n| n.checked_mul(size));
    let is_stored = match (layout, values) {
        (_, None) => false,
        (Layout::Compact, _) => true,
        (Layout::Contiguous, Some(bytes)) => dataset.storage_size() == bytes,
        (Layout::Chunked, _) => {
            let stored = dataset.num_chunks().map(|n| n as u64);
            stored.is_some() && stored == chunks(&shape, &dataset.chunk().unwrap_or_default())
        }
        _ => return Err("its values are those of other datasets".into()),
    };
    match is_stored {
        true => Ok(()),
        false => Err(format!("its values, of shape {shape:?}, are not all stored").into()),
    }
}

/// Returns the number of chunks that an array of `shape` needs.
fn chunks(shape: &[usize], chunk: &[usize]) -> Option<u64> {
    if shape.len() != chunk.len() || chunk.contains(&0) {
        return None;
    }
    let counts: Vec<usize> = shape
        .iter()
        .zip(chunk)
        .map(|(n, c)| n.div_ceil(*c))
        .collect();
    product(&counts)
}

/// Returns the product of `numbers`, or `None` if it overflows.
fn product(numbers: &[usize]) -> Option<u64> {
    let mut numbers = numbers.iter().map(|&n| n as u64);
    numbers.try_fold(1, |product: u64, n| product.checked_mul(n))
}

/// Reads a dataset whole. Fails if it has more than `most` values, or if memory is short.
pub fn read_small<T: H5Type>(dataset: &Dataset, most: u64) -> hdf5::Result<Vec<T>> {
    let count = product(&dataset.shape()).unwrap_or(u64::MAX);
    if count > most {
        return Err(format!("{} has {count} values, and {most} at most", dataset.name()).into());
    }
    let bytes = count.saturating_mul(size_of::<T>() as u64);
    memory::check(bytes).map_err(|why| format!("{}: {why}", dataset.name()))?;
    dataset.read_raw()
}
