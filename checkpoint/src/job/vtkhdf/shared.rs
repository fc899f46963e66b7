//! Arrays of meshes that are no fields, and the same in all ranks but for their lengths: numbers at
//! equal distances, and the type of cells that all have the same one. The file holds the longest
//! one of each, and all ranks take its beginning.

use crate::file::Fault;
use crate::write::layouts::vtkhdf::Made;
use hdf5::{Dataset, File, H5Type};
use std::collections::BTreeMap;

/// The most values that are made at once, and the values of a chunk.
const CHUNK: usize = 1 << 17;

/// An array of which ranks take the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counted {
    /// 0, this number, twice this number, ...
    Steps(usize),
    /// The type of all cells.
    Types(u8),
}

/// The number of values of each array in the file.
pub type Shared = BTreeMap<Counted, usize>;

impl Counted {
    /// Returns the array that `made` is the beginning of.
    pub fn of(made: &Made<'_>) -> Option<Counted> {
        match made {
            Made::Ramp { step, .. } => Some(Counted::Steps(*step)),
            Made::Types { cell, .. } => Some(Counted::Types(cell.0)),
            _ => None,
        }
    }

    /// Returns its path in the file.
    pub fn path(self) -> String {
        match self {
            Counted::Steps(step) => format!("/counted/{step}"),
            Counted::Types(cell) => format!("/types/{cell}"),
        }
    }
}

/// Writes the longest array of each kind. `used` has the number of values that each use takes.
pub fn write(file: &File, used: impl Iterator<Item = (Counted, usize)>) -> Result<Shared, Fault> {
    let mut shared = Shared::new();
    for (counted, count) in used {
        let longest = shared.entry(counted).or_default();
        *longest = count.max(*longest);
    }
    for group in ["counted", "types"] {
        file.create_group(group)?;
    }
    for (counted, count) in &shared {
        match *counted {
            Counted::Steps(step) => fill(file, *counted, *count, |i| (i * step) as i64)?,
            Counted::Types(cell) => fill(file, *counted, *count, |_| cell)?,
        }
    }
    Ok(shared)
}

/// Writes an array. Its values compress well, by filters that all builds of HDF5 have.
fn fill<T: H5Type>(
    file: &File,
    counted: Counted,
    count: usize,
    value: impl Fn(usize) -> T,
) -> Result<(), Fault> {
    let builder = file.new_dataset_builder();
    let builder = match count {
        0 => builder.no_chunk(),
        _ => builder.chunk(count.min(CHUNK)).shuffle().deflate(1),
    };
    let dataset: Dataset = builder.empty::<T>().shape(count).create(&*counted.path())?;
    for start in (0..count).step_by(CHUNK) {
        let rows = start..count.min(start + CHUNK);
        let values: Vec<T> = rows.clone().map(&value).collect();
        dataset.write_slice(&values, rows)?;
    }
    Ok(())
}
